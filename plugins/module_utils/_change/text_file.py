# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""A tunable that is a small text file, as in /proc/sys and most of /sys."""
from __future__ import annotations

import errno
import os
import re
from typing import Any

from .._host.host import Host
from .._host.reading import Reading
from .tunable import Refused, Tunable, expected_error

# What kstrtol() and proc_dointvec() print. "010" is excluded on purpose: the kernel would read it as octal 8.
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)")
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]+")


def parse_numbers(text: str) -> list[int]:
    """Parse `4096 131072 6291456` with any spacing. Raises ValueError for anything else, including octal."""
    numbers = []
    for word in text.split():
        if _DECIMAL.fullmatch(word):
            numbers.append(int(word))
        elif _HEXADECIMAL.fullmatch(word):
            numbers.append(int(word, 16))
        else:
            raise ValueError(f"{word!r} is not a number")
    if not numbers:
        raise ValueError("no number")
    return numbers


def same_text(one: Any, other: Any) -> bool:
    """Whether two texts are equivalent: same words in order, numbers by value, blanks and tabs alike."""
    if one is None or other is None:
        return False
    try:
        return parse_numbers(one) == parse_numbers(other)
    except ValueError:
        return one.split() == other.split()


def write_obstacle(host: Host, path: str) -> Refused | None:
    """Return why a write to `path` will fail, from its mode and its mount, without opening it.

    The mode applies to root too: /proc/sys ignores CAP_DAC_OVERRIDE (test_perm() in fs/proc/proc_sysctl.c), and a sysfs
    attribute without a write bit has no store function.
    """
    mode = host.mode(path)
    if mode is None:
        return None
    try:
        here = host.local(path)
        if os.statvfs(here).f_flag & os.ST_RDONLY:
            return expected_error(errno.EROFS, "its file system is mounted read-only")
    except OSError:
        return None
    if not mode & 0o222 or not os.access(here, os.W_OK):
        return expected_error(errno.EACCES, f"the file mode is {mode:04o}")
    return None


class TextFile(Tunable):
    """A file of the host that holds one value as text."""

    def __init__(self, host: Host, address: str, path: str) -> None:
        self.host = host
        self.address = address
        self.path = path

    def read(self) -> Reading:
        return self.host.read(self.path)

    def same(self, one: Any, other: Any) -> bool:
        return same_text(one, other)

    def made_of(self, written: Any, found: Any) -> bool:
        # A plain file is empty after a short write; a kernel's file never is.
        return self.same(found, written) or (found == "" and not self.host.live)

    def number(self, value: Any) -> int:
        numbers = parse_numbers(value)
        if len(numbers) != 1:
            raise ValueError(f"{value!r} holds {len(numbers)} numbers")
        return numbers[0]

    def require_writable(self) -> None:
        refusal = write_obstacle(self.host, self.path)
        if refusal is not None:
            raise refusal

    def write(self, value: str) -> None:
        # Like echo, but no newline for a file without one, so that a restored file has the same bytes.
        held = self.host.read_bytes(self.path)
        self.host.write(self.path, value if held and not held.endswith(b"\n") else value + "\n")
