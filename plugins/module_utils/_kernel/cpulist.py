# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""CPU lists in the kernel's format: `0-3,8` (Documentation/admin-guide/kernel-parameters.rst, cpu lists)."""
from __future__ import annotations

from collections.abc import Iterable

CPU_LIMIT = 1 << 16     # several times the largest CONFIG_NR_CPUS; bounds the memory of a range
NAMED_LIMIT = 2 * CPU_LIMIT     # a kernel names each CPU once; bounds the time for a list of ranges


def parse_cpulist(text: str) -> list[int]:
    """Parse `0-3,8` into sorted, unique CPU numbers; empty text gives an empty list. Raises ValueError."""
    cpus: set[int] = set()
    named = 0
    for part in text.strip().split(",") if text.strip() else ():
        first, dash, last = part.partition("-")
        start = _number(first, text)
        end = _number(last, text) if dash else start
        if end < start:
            raise ValueError(f"{text!r} is not a list of CPUs: {part!r} is a descending range")
        named += end + 1 - start
        if named > NAMED_LIMIT:
            raise ValueError(f"{text[:80]!r}... is not a list of CPUs: it has more than {NAMED_LIMIT}")
        cpus.update(range(start, end + 1))
    return sorted(cpus)


def format_cpulist(cpus: Iterable[int]) -> str:
    """Return the shortest sorted list of these CPUs; empty for none."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _number(text: str, whole: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 6 or int(text) >= CPU_LIMIT:
        raise ValueError(f"{whole!r} is not a list of CPUs: {text!r} is not a CPU number")
    return int(text)
