# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""PCI devices in the raw QEMU arguments of a VM's configuration (`args`, `man qm.conf`).

QEMU accepts `-device vfio-pci,host=0000:41:00.0`, the same as JSON, and `sysfsdev=` with the folder of a PCI device or
of a mediated device (docs/devel/migration/vfio.rst, hw/vfio/pci.c).
"""
from __future__ import annotations

import re
from collections.abc import Callable

from .._pci.address import kernel_address

_DEVICE = re.compile(r"(?:^|\s)--?device[\s=]+")
_NEXT_OPTION = re.compile(r"\s--?[a-z]")
_FOLDER = re.compile(r"""sysfsdev["']?\s*[=:]\s*["']?([^\s,"'}]+)""")
_ADDRESS = re.compile(r"(?<![0-9a-f:])(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?", re.IGNORECASE)
MEDIATED = re.compile(r"/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/?$", re.IGNORECASE)


def addresses(arguments: str, parent_of: Callable[[str], str | None]) -> list[str] | None:
    """The addresses that `-device vfio-pci...` names; None if the address of any of these devices is unknown.

    `parent_of(path)` returns the parent of a mediated device.
    """
    found = []
    for words in _DEVICE.split(arguments)[1:]:
        device = _NEXT_OPTION.split(words)[0]
        if "vfio-pci" not in device:
            continue
        address = _address(device, parent_of)
        if address is None:
            return None
        found.append(address)
    return found


def _address(device: str, parent_of: Callable[[str], str | None]) -> str | None:
    folder = _FOLDER.search(device)
    if folder is not None and MEDIATED.search(folder[1]):
        return parent_of(folder[1])
    if folder is not None:                  # a path below /sys/devices names the ports before the device
        named = _ADDRESS.findall(folder[1].rstrip("/").rpartition("/")[2])
    else:
        named = _ADDRESS.findall(device)
    return kernel_address(named[0]) if named else None
