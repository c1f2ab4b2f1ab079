# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The architecture of an NVIDIA GPU by its PCI device id.

The ranges follow the chip names in the PCI ID Repository (https://pci-ids.ucw.cz, list of 2026-08-22): GM Maxwell,
GP Pascal, GV Volta, TU Turing, GA Ampere, GH Hopper, AD Ada, GB Blackwell, GR Rubin. NVIDIA assigns ids in blocks, so
a range covers a whole block, including GPUs not yet named. An id outside every block has no architecture.
"""
from __future__ import annotations

_BLOCKS = (
    (0x1340, 0x14FF, "maxwell"),
    (0x15C0, 0x15FF, "pascal"),         # GP100
    (0x1600, 0x167F, "maxwell"),
    (0x1720, 0x172F, "pascal"),
    (0x1740, 0x17FF, "maxwell"),
    (0x1B00, 0x1D7F, "pascal"),
    (0x1D80, 0x1DFF, "volta"),
    (0x1E00, 0x1FFF, "turing"),
    (0x2080, 0x20FF, "ampere"),         # GA100
    (0x2180, 0x21FF, "turing"),
    (0x2200, 0x227F, "ampere"),
    (0x2300, 0x23FF, "hopper"),
    (0x2400, 0x25FF, "ampere"),
    (0x2600, 0x28FF, "ada"),
    (0x2900, 0x29FF, "blackwell"),      # GB100, GB102
    (0x2B00, 0x2F7F, "blackwell"),      # GB10B, GB20x
    (0x3000, 0x30FF, "rubin"),
    (0x3180, 0x323F, "blackwell"),      # GB110, GB112
)


def architecture(device: str | None) -> str | None:
    """Return `blackwell` for `2bb5`; None for an id outside every block."""
    if device is None:
        return None
    number = int(device, 16)
    return next((name for first, last, name in _BLOCKS if first <= number <= last), None)
