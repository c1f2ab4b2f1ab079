# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Major numbers of character devices and their drivers: /proc/devices (chrdev_show() in fs/char_dev.c)."""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import Reading


def parse_devices(text: str) -> list[dict]:
    """Parse the character devices of /proc/devices: `[{name, major}]`.

    It is a list because neither is unique: several names share major 195, and a name may have several majors.
    """
    found = []
    for line in text.partition("Block devices:")[0].splitlines():
        major, _blank, name = line.strip().partition(" ")
        if major.isdecimal() and name:
            found.append({"name": name.strip(), "major": int(major)})
    return found


def read_majors(host: Host) -> Reading:
    """Read the current majors of all character devices. Most are assigned in the order in which drivers register, so
    another kernel or module changes them."""
    return host.read("/proc/devices").map(parse_devices)


def owners(majors: list[dict], major: int | None) -> list[str]:
    """Return the names registered for a major."""
    return sorted({entry["name"] for entry in majors if entry["major"] == major})
