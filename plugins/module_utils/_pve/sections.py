# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Device settings in the inactive sections of a guest's configuration: pending changes and snapshots.

`[PENDING]` of a VM and `[pve:pending]` of a container apply at the next start, with `delete:` for removed settings;
any other name is a snapshot, which applies after a rollback (parse_vm_config() in PVE/QemuServer.pm,
parse_pct_config() in PVE/LXC/Config.pm). This file only parses; it reads nothing.
"""
from __future__ import annotations

import re

_PENDING = ("pending", "pve:pending")
_OF_THE_PROGRAM = ("special:",)     # sections for Proxmox VE's internal data
_DEVICE_KEYS = re.compile(r"dev\d+|hostpci\d+|lxc\.cgroup2?\.devices\.(?:allow|deny)")


def other_sections(sections: dict[str, list[tuple[str, str]]]) -> list[dict]:
    """`[{section, pending, lines}]` of the sections whose device lines differ from the current ones.

    `sections` is from parse_sections() of config.py. `delete` in a pending section is included if it removes a
    device.
    """
    now = set(_device_lines(sections[""], pending=False))
    found = []
    for name, settings in sections.items():
        if name == "" or name.startswith(_OF_THE_PROGRAM):
            continue
        pending = name.lower() in _PENDING
        lines = [line for line in _device_lines(settings, pending) if line not in now]
        if lines:
            found.append({"section": name, "pending": pending, "lines": lines})
    return found


def _device_lines(settings: list[tuple[str, str]], pending: bool) -> list[str]:
    return [f"{key}: {value}" for key, value in settings if _is_about_devices(key, value)
            or (pending and key == "delete" and any(map(_DEVICE_KEYS.fullmatch, re.split(r"[,; ]+", value))))]


def _is_about_devices(key: str, value: str) -> bool:
    if key == "args":
        return "vfio-pci" in value
    if key == "lxc.mount.entry":
        return value.startswith("/dev/")
    return _DEVICE_KEYS.fullmatch(key) is not None
