# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Which driver holds a GPU: that of its vendor, one that reserves it for another use, another one, or none."""
from __future__ import annotations

import re

# By vendor id the drivers that compute on its GPUs.
_OF_VENDOR = {"10de": ("nvidia",), "1002": ("amdgpu",), "8086": ("xe", "i915"), "1da3": ("habanalabs",)}
# Drivers that give a device to a guest (vfio-pci and its variants of vendors, Xen), to a program (uio), or to nobody
# until something else takes it (pci-stub): Documentation/driver-api/vfio.rst, uio-howto.rst, drivers/pci/pci-stub.c.
_FOR_OTHERS = re.compile(r".*vfio.*|pci-stub|(xen-)?pciback|(igb_)?uio.*")


def is_held_for_others(driver: str | None) -> bool:
    """Whether `driver` keeps a device from the host."""
    return driver is not None and _FOR_OTHERS.fullmatch(driver) is not None


def is_given_to_guest(driver: str | None) -> bool:
    """Whether `driver` is one by which VMs are given devices."""
    return driver is not None and "vfio" in driver


def why_not_driven(vendor: str | None, driver: str | None) -> str | None:
    """Why a GPU does not compute for this host, in words; None where the driver of its vendor has it.

    Of vendors that are not known here any driver counts that keeps no device for others.
    """
    if driver is None:
        return "no driver is bound to it"
    if is_held_for_others(driver):
        return f"it is bound to {driver}, which reserves it for guests"
    wanted = _OF_VENDOR.get(vendor or "")
    return None if wanted is None or driver in wanted else f"it is bound to {driver}, not to {' or '.join(wanted)}"
