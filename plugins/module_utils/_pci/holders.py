# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The driver bound to a GPU: its vendor's, one that reserves it for another use, a different one, or none."""
from __future__ import annotations

import re

# The compute drivers by vendor id.
_OF_VENDOR = {"10de": ("nvidia",), "1002": ("amdgpu",), "8086": ("xe", "i915"), "1da3": ("habanalabs",)}
# Drivers that give a device to a guest (vfio-pci and its vendor variants, Xen), to a program (uio), or only reserve it
# (pci-stub): Documentation/driver-api/vfio.rst, uio-howto.rst, drivers/pci/pci-stub.c.
_FOR_OTHERS = re.compile(r".*vfio.*|pci-stub|(xen-)?pciback|(igb_)?uio.*")


def is_held_for_others(driver: str | None) -> bool:
    """Whether `driver` reserves a device, so that the host cannot use it."""
    return driver is not None and _FOR_OTHERS.fullmatch(driver) is not None


def is_given_to_guest(driver: str | None) -> bool:
    """Whether `driver` passes devices through to VMs."""
    return driver is not None and "vfio" in driver


def why_not_driven(vendor: str | None, driver: str | None) -> str | None:
    """Return why this host cannot compute on a GPU, as text; None if its vendor's driver is bound.

    For other vendors any driver that does not reserve devices counts.
    """
    if driver is None:
        return "no driver is bound to it"
    if is_held_for_others(driver):
        return f"it is bound to {driver}, which reserves it for guests"
    wanted = _OF_VENDOR.get(vendor or "")
    return None if wanted is None or driver in wanted else f"it is bound to {driver}, not to {' or '.join(wanted)}"
