# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Names of Arm cores: their kernel shows only implementer and part number (MIDR_EL1), no name.

The numbers are those of arch/arm64/include/asm/cputype.h and of Arm's technical reference manuals.
"""
from __future__ import annotations

from collections.abc import Iterable

_DESIGNERS = {0x41: "Arm", 0x42: "Broadcom", 0x43: "Cavium", 0x46: "Fujitsu", 0x48: "HiSilicon", 0x4E: "NVIDIA",
              0x50: "Applied Micro", 0x51: "Qualcomm", 0x61: "Apple", 0x6D: "Microsoft", 0x70: "Phytium",
              0xC0: "Ampere"}
_CORES = {
    0x41: {
        0xC07: "Cortex-A7", 0xC09: "Cortex-A9", 0xC0F: "Cortex-A15", 0xD03: "Cortex-A53", 0xD04: "Cortex-A35",
        0xD05: "Cortex-A55", 0xD07: "Cortex-A57", 0xD08: "Cortex-A72", 0xD09: "Cortex-A73", 0xD0A: "Cortex-A75",
        0xD0B: "Cortex-A76", 0xD0C: "Neoverse-N1", 0xD0D: "Cortex-A77", 0xD40: "Neoverse-V1", 0xD41: "Cortex-A78",
        0xD42: "Cortex-A78AE", 0xD44: "Cortex-X1", 0xD46: "Cortex-A510", 0xD47: "Cortex-A710", 0xD48: "Cortex-X2",
        0xD49: "Neoverse-N2", 0xD4A: "Neoverse-E1", 0xD4B: "Cortex-A78C", 0xD4C: "Cortex-X1C", 0xD4D: "Cortex-A715",
        0xD4E: "Cortex-X3", 0xD4F: "Neoverse-V2", 0xD80: "Cortex-A520", 0xD81: "Cortex-A720", 0xD82: "Cortex-X4",
        0xD83: "Neoverse-V3AE", 0xD84: "Neoverse-V3", 0xD85: "Cortex-X925", 0xD87: "Cortex-A725",
        0xD8E: "Neoverse-N3"},
    0x43: {0x0A1: "ThunderX", 0x0AF: "ThunderX2"},
    0x46: {0x001: "A64FX", 0x003: "MONAKA"},
    0x48: {0xD01: "TaiShan-v110", 0xD02: "TaiShan-v120"},
    0x4E: {0x003: "Denver 2", 0x004: "Carmel", 0x010: "Olympus"},
    0xC0: {0xAC3: "Ampere-1", 0xAC4: "Ampere-1a", 0xAC5: "Ampere-1b"},
}


def name_core(implementer: int, part: int) -> str:
    """Return `Neoverse-V2` for 0x41 and 0xd4f; `part 0xfff` for an unknown number."""
    return _CORES.get(implementer, {}).get(part, f"part {part:#05x}")


def name_processor(kinds: Iterable[tuple[int, int]]) -> str | None:
    """Return `Arm Cortex-X925 and Cortex-A725` for the implementers and parts of all cores; None for none."""
    names: dict[str, list[str]] = {}
    for implementer, part in set(kinds):
        designer = _DESIGNERS.get(implementer, f"implementer {implementer:#04x}")
        names.setdefault(designer, []).append(name_core(implementer, part))
    # The larger kind of core comes first: X before A, the higher number before the lower one.
    return " and ".join(f"{designer} {' and '.join(sorted(cores, reverse=True))}"
                        for designer, cores in sorted(names.items())) or None
