# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The blocks of an nvidia-bug-report.log, which lie between its lines of underscores, identified by headings.

Headings are the only criterion: the script's number counts a list of changes, and an old branch of the driver with a
newer number lacks what a new branch with an older one has.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

SEPARATOR = "_" * 44
START = "Start of NVIDIA bug report log file."
END = "End of NVIDIA bug report log file."
BLOCK_LIMIT = 24 << 20      # characters kept of one block; the largest block in use is a kernel log
FILE, MISSING, DENIED, COMMAND, PROLOGUE, NOTHING = "file", "missing", "denied", "command", "prologue", "nothing"

_PATH = re.compile(r"\*\*\* (/.*?)( does not exist| is not readable)?\s*")
# Until about 2011 only the path stood above a file.
_OLD_PATH = re.compile(r"(/(?:proc|sys|etc)/[^\s:]+)( does not exist| is not readable)?\s*")
_LS = re.compile(r"\*\*\* ls: ")
_MODE = re.compile(r"\*\*\* ls: -([r-][w-][x-])([r-][w-][x-])([r-][w-][x-])")
# Blocks that are skipped: their content can be large, and may look like anything.
_SKIPPED = re.compile(r"base64 |/\S*(?:nvidia-debugdump|coredumpctl|vulkaninfo|acpidump|lsusb)|xset |xrandr |"
                      r"nvidia-settings |Running window manager|Using built-in|ldd |journalctl |"
                      r"\*\*\* /(?:proc/asound|var/lib/dkms|usr/share|home|root|etc/X11)/")
_INSTALLER = re.compile(r"\*\*\* /var/log/(?:nvidia-|Xorg)")


class Block(NamedTuple):
    """`title` is the path of a file, or the first line of other blocks; `lines` are those below it."""

    kind: str
    title: str
    lines: list[str]
    line: int                   # line number of the title, from 1
    mode: int | None = None     # of a file, as printed by ls
    cut: bool = False           # truncated at BLOCK_LIMIT


def read_blocks(lines: Iterable[str]) -> Iterator[Block]:
    """The blocks in order. At most BLOCK_LIMIT is kept of blocks that are skipped or too long."""
    gathered: list[str] = []
    size = first = 0
    skipped = cut = False
    for number, line in enumerate(lines, 1):
        if line.rstrip() == SEPARATOR:
            yield from _finish(gathered, first, cut)
            gathered, size, first, skipped, cut = [], 0, 0, False, False
        elif gathered or line.strip():
            if not gathered:
                first = number
                skipped = bool(_SKIPPED.match(line) or _INSTALLER.match(line))
            if not gathered or not (skipped or size > BLOCK_LIMIT):
                gathered.append(line)
                size += len(line) + 1
            cut = cut or size > BLOCK_LIMIT
    yield from _finish(gathered, first, cut)


def _finish(lines: list[str], first: int, cut: bool) -> Iterator[Block]:
    """Split a block that holds several files: without a heading between them they follow each other."""
    if not lines:
        return
    start = 0
    for position in range(1, len(lines) + 1):
        at_end = position == len(lines)
        if at_end or (_PATH.fullmatch(lines[position]) and not _LS.match(lines[position])):
            yield _block(lines[start:position], first + start, cut and at_end)
            start = position


def _block(lines: list[str], number: int, cut: bool) -> Block:
    title, body = lines[0], lines[1:]
    found = _PATH.fullmatch(title) or _OLD_PATH.fullmatch(title)
    if found is None:
        kind = PROLOGUE if title.startswith(START) else NOTHING if title.startswith(("Skipping", END)) else COMMAND
        return Block(kind, title.strip(), body, number, cut=cut)
    if found[2]:
        return Block(MISSING if "exist" in found[2] else DENIED, found[1], body, number)
    mode = _mode(body[0]) if body and _LS.match(body[0]) else None
    return Block(FILE, found[1], body[1:] if body and _LS.match(body[0]) else body, number, mode, cut)


def _mode(text: str) -> int | None:
    found = _MODE.match(text)
    if found is None:
        return None
    return sum(bit << shift for triple, shift in zip(found.groups(), (6, 3, 0))
               for sign, bit in zip(triple, (4, 2, 1)) if sign != "-")


def trimmed(lines: list[str]) -> list[str]:
    """The lines without the empty ones at the end, which the script prints after each block."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]
