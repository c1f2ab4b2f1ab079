# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The memory regions of a PCI device: from lines of lspci to the kernel's file `resource`."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...module_utils._pci.sysfs import IORESOURCE_MEM, IORESOURCE_MEM_64, IORESOURCE_PREFETCH, PCI_STD_NUM_BARS

IORESOURCE_IO = 0x00000100
IORESOURCE_SIZEALIGN = 0x00040000       # set by the kernel for every BAR
_FIRST_BAR = 0x10                       # PCI_BASE_ADDRESS_0
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_REGION = re.compile(r"(?:Region (\d): )?(?:(Memory) at ([0-9a-f]{1,16})|(I/O ports) at ([0-9a-f]{1,8}))\b(.*)")
_SIZE = re.compile(r"\[size=(\d{1,6})([KMGT]?)\]")


def parse_regions(detail: Iterable[str], config: bytes) -> dict[int, tuple[int, int, int]]:
    """`{index: (start, size, flags)}`; without -vv lspci prints no index, which is then found from the registers."""
    found: dict[int, tuple[int, int, int]] = {}
    free = 0
    for text in detail:
        line = _REGION.match(text)
        size = _SIZE.search(text)
        if line is None or size is None:
            continue
        start = int(line[3] or line[5], 16)
        flags = (IORESOURCE_MEM if line[2] else IORESOURCE_IO) | IORESOURCE_SIZEALIGN
        flags |= IORESOURCE_MEM_64 if "64-bit" in line[6] else 0
        flags |= IORESOURCE_PREFETCH if ", prefetchable" in line[6] else 0
        index = int(line[1]) if line[1] else _index_of(start, config, free)
        if index < PCI_STD_NUM_BARS:
            found.setdefault(index, (start, int(size[1]) * _UNITS[size[2]], flags))
            free = index + (2 if flags & IORESOURCE_MEM_64 else 1)
    return found


def _index_of(start: int, config: bytes, free: int) -> int:
    for index in range(free, PCI_STD_NUM_BARS):
        at = _FIRST_BAR + 4 * index
        register = int.from_bytes(config[at:at + 4], "little")
        mask = 0xFFFFFFFC if register & 1 else 0xFFFFFFF0
        if register and register & mask == start & 0xFFFFFFFF:
            return index
    return free


def resource_text(regions: dict[int, tuple[int, int, int]]) -> str:
    """The first six lines of `resource`: the BARs, zeros for unused ones."""
    return "".join(_lines(regions))


def _lines(regions: dict[int, tuple[int, int, int]]) -> Iterator[str]:
    for index in range(PCI_STD_NUM_BARS):
        start, size, flags = regions.get(index, (0, 1, 0))
        yield f"0x{start:016x} 0x{start + size - 1:016x} 0x{flags:016x}\n"
