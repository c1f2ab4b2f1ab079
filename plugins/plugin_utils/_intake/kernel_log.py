# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Merge the kernel log of this boot and of earlier ones from dmesg, the journal and log files.

dmesg is the ring buffer: complete unless it wrapped. The journal and the files in /var/log have wall-clock times, only
the lines that the report's script searched for, and repeat the lines of this boot.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

LINES_LIMIT = 400_000
EARLIER_LIMIT = 20_000      # lines of one earlier boot

# `Jan 26 13:53:20 host kernel: [   12.3] text`; kern.log of rsyslog 8: `2026-01-26T12:53:36.7-07:00 host kernel: text`
_JOURNAL = re.compile(r"(?P<when>(?:\S{1,12} +){1,4}?\d\d:\d\d:\d\d(?:\.\d+)?"
                      r"|\d{4}-\d\d-\d\dT[\d:.]+(?:[-+]\d\d:\d\d|Z)?)"
                      r" \S+ kernel: (?:\[ *(?P<seconds>\d{1,12}\.\d{1,9})\] )?(?P<text>.*)")
_STAMP = re.compile(r"(?:<\d+>)?\[ *(\d{1,12}\.\d{1,9})\] ?(?:\[ *[CT]\d+\] ?)?(.*)")
# The least indent of a message's further lines: the width of `Jan 26 13:53:20 host kernel: ` in a journal, of
# `[    1.234567] ` in the output of dmesg.
CONTINUED, CONTINUED_IN_RING = " " * 24, " " * 12
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)")
_BOOT = re.compile(r" kernel: (?:\[ *\d+\.\d+\] )?Linux version \d")
_ABOUT = 120                # seconds
_SOON = 300.0               # seconds since boot within which the driver is first loaded
_BEGINS = 1.0               # seconds: a ring buffer whose first line is earlier than this has not wrapped


class KernelLine(NamedTuple):
    when: str
    seconds: float | None
    text: str


class KernelLog(NamedTuple):
    """`this` is the text for recorded/kmsg.txt; `earlier` is `[{boot, text}]`, newest first; `notes` are sentences."""

    this: str
    earlier: list[dict]
    notes: list[str]


def parse_journal(lines: Iterable[str]) -> list[KernelLine]:
    """The kernel's lines of a journal or of kern.log; those of programs are skipped.

    journalctl prints the further lines of a message below its first one, indented by the width of what precedes that.
    """
    found: list[KernelLine] = []
    message = None
    for line in lines:
        begun = _JOURNAL.fullmatch(line)
        if begun is not None:
            message = KernelLine(begun["when"], float(begun["seconds"]) if begun["seconds"] else None, begun["text"])
            found.append(message)
        elif message is not None and line.startswith(CONTINUED):
            found.append(message._replace(text=line.strip()))
        else:
            message = None
    return found


def split_boots(lines: list[str]) -> dict[int, list[str]]:
    """Lines of a journal or of kern.log by boot, 0 for the last one.

    A boot begins with the kernel's version, or with lines of the same second before it: of a microcode update, for
    example.
    """
    boots: list[list[str]] = [[]]
    for line in lines:
        if _BOOT.search(line):
            last, when = boots[-1], _when(line)
            start = next((at for at in range(len(last), 0, -1) if _when(last[at - 1]) != when), 0)
            boots[-1:] = [last[:start], last[start:]] if start else [last]
        boots[-1].append(line)
    return {number - len(boots) + 1: boot for number, boot in enumerate(boots)}


def _when(line: str) -> str | None:
    found = _JOURNAL.fullmatch(line)
    return found and found["when"]


def put_together(dmesg: list[str] | None, journals: dict[int, list[str]], files: list[str]) -> KernelLog:
    """`journals` are lines of `journalctl -b N` by N (0, -1, -2), `files` those of kern.log, messages and the like;
    `dmesg` is None if it was not called."""
    asked, dmesg = dmesg is not None, (dmesg or [])[-LINES_LIMIT:]
    notes: list[str] = []
    texts = [_text_of(line) for line in dmesg]
    this = parse_journal(journals.get(0, ()))
    before: list[KernelLine] = []
    if not _reaches_boot(dmesg):
        before = _without(this, Counter(texts))
        notes += _note_of_gap(bool(dmesg), len(before), bool(this)) if asked else []
    head = [line.text for line in before]
    earlier = _earlier(journals, files, Counter(texts + head), this)
    return KernelLog("".join(f"{line}\n" for line in [*head, *dmesg]), earlier, notes)


def _note_of_gap(ring: bool, before: int, journal: bool) -> list[str]:
    lost = "dmesg no longer holds the start of this boot" if ring else "dmesg printed nothing"
    if before:
        return [f"{lost}: {before} lines of NVIDIA's driver are taken from the journal"]
    return [] if journal else [f"{lost}, and no journal has the lines before it"]


def holds_start(dmesg: list[str]) -> bool:
    """Whether the ring buffer still has the kernel's first lines, so that a missing message was never printed."""
    return any(" Linux version " in line or line.startswith("Linux version ") for line in dmesg[:200])


def _text_of(line: str) -> str:
    stamped = _STAMP.fullmatch(line)
    return stamped[2] if stamped else line.strip()


def _reaches_boot(dmesg: list[str]) -> bool:
    for line in dmesg:
        stamped = _STAMP.fullmatch(line)
        if stamped is not None:
            return float(stamped[1]) < _BEGINS
    return False


def _without(lines: list[KernelLine], seen: Counter) -> list[KernelLine]:
    """The lines that the ring buffer lacks. It has the newest ones, so they are removed from the end."""
    left, kept = Counter(seen), []
    for line in reversed(lines):
        if left[line.text] > 0:
            left[line.text] -= 1
        else:
            kept.append(line)
    return kept[::-1]


def _earlier(journals: dict[int, list[str]], files: list[str], this: Counter,
             kept: list[KernelLine]) -> list[dict]:
    boots = {number: parse_journal(lines) for number, lines in journals.items() if number < 0}
    known = _Known([*kept, *(line for lines in boots.values() for line in lines)])
    found = [{"boot": number, "text": _joined(boots[number])} for number in sorted(boots, reverse=True)
             if boots[number]]
    # Lines found only in log files are from boots before those, or from this one if there is no journal.
    oldest = min([0, *boots])
    for lines in reversed(_boots_of_files(parse_journal(files))):
        rest = [line for line in lines if line not in known]
        if rest and not (not kept and _is_this_boot(lines, this)):
            oldest -= 1
            found.append({"boot": oldest, "text": _joined(rest)})
    return found


class _Known:
    """The lines of journals, to recognize lines of log files: same text, same day, about the same time.

    rsyslog and journald stamp a line when they receive it, and format dates differently.
    """

    def __init__(self, lines: list[KernelLine]) -> None:
        self._times: dict[tuple[str, str], list[int]] = {}
        for line in lines:
            day, seconds = _day_and_time(line.when)
            self._times.setdefault((line.text, day), []).append(seconds)

    def __contains__(self, line: KernelLine) -> bool:
        day, seconds = _day_and_time(line.when)
        return any(abs(one - seconds) <= _ABOUT for one in self._times.get((line.text, day), ()))


def _day_and_time(when: str) -> tuple[str, int]:
    """`26` and the seconds of the day, of `Jan 26 13:53:20` in any language or of `2026-01-26T13:53:20.1-07:00`."""
    clock = _CLOCK.search(when)
    if clock is None:
        return when, 0
    days = re.findall(r"(?<!\d)\d{1,2}(?!\d)", when[:clock.start()])
    return (days[-1].lstrip("0") if days else ""), int(clock[1]) * 3600 + int(clock[2]) * 60 + int(clock[3])


def _is_this_boot(lines: list[KernelLine], this: Counter) -> bool:
    """Whether most lines of a boot in a log file are in the log of this boot."""
    return sum(1 for line in lines if this[line.text]) * 2 > len(lines)


def _boots_of_files(lines: list[KernelLine]) -> list[list[KernelLine]]:
    """Split a log file by boot: one begins where the driver is loaded again, or the kernel's clock jumps back."""
    boots: list[list[KernelLine]] = []
    last = None
    for line in lines:
        back = line.seconds is not None and last is not None and line.seconds + 1 < last
        loaded = "NVRM: loading NVIDIA UNIX" in line.text and (line.seconds or 0) < _SOON
        if not boots or back or loaded:
            boots.append([])
        last = line.seconds if line.seconds is not None else last
        boots[-1].append(line)
    return boots


def _joined(lines: list[KernelLine]) -> str:
    return "".join(f"{line.when} kernel: {line.text}\n" for line in lines[-EARLIER_LIMIT:])
