# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Vendors and versions of the machine and its firmware: /sys/class/dmi/id (drivers/firmware/dmi-id.c)."""
from __future__ import annotations

from .._host.host import Host

DMI = "/sys/class/dmi/id"
FILES = {
    "system_vendor": "sys_vendor",
    "product_name": "product_name",
    "board_name": "board_name",
    "bios_vendor": "bios_vendor",
    "bios_version": "bios_version",
    "bios_date": "bios_date",
}


def read(host: Host) -> dict:
    """Read the facts' section `firmware`; all absent on a machine without SMBIOS tables."""
    return {name: host.read(f"{DMI}/{file}").map(str.strip) for name, file in FILES.items()}
