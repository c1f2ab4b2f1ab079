# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Placement settings of a container: `man pct.conf`, and raw keys of `man lxc.container.conf`.

`cores` does not bind it to particular CPUs: Proxmox VE chooses some at start and pvestatd rebalances them, unless
lxc.cgroup2.cpuset.cpus is set (pve-container, PVE/LXC.pm, and PVE/Service/pvestatd.pm, rebalance_lxc_containers()).
"""
from __future__ import annotations

import re

from .vm_settings import limit, number_list, whole

DEFAULT_MEMORY_MIB = 512
_HWADDR = re.compile(r"(?:^|,)hwaddr=((?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2})(?=,|$)")
_OLD, _UNIFIED = "lxc.cgroup.", "lxc.cgroup2."


def configured(settings: list[tuple[str, str]], unified: bool | None) -> dict:
    """`configured` of a container; schemas/facts/placement.json explains the keys.

    `unified`: the host has cgroup v2 only. Keys for the other cgroup version have no effect; if None (unknown), keys
    for both versions count.
    """
    last = dict(settings)
    prefixes = {True: (_UNIFIED,), False: (_OLD,), None: (_UNIFIED, _OLD)}[unified]
    raw = {name: next((last[prefix + name] for prefix in prefixes if last.get(prefix + name)), None)
           for name in ("cpuset.cpus", "cpuset.mems")}
    return {
        "cores": whole(last.get("cores"), None), "memory_mib": whole(last.get("memory"), DEFAULT_MEMORY_MIB),
        "cpus": number_list(raw["cpuset.cpus"]), "memory_nodes": number_list(raw["cpuset.mems"]),
        "cpulimit": limit(last.get("cpulimit")), "cpuunits": whole(last.get("cpuunits"), None),
        "addresses": [address.lower() for key, value in settings if re.fullmatch(r"net\d+", key)
                      for address in _HWADDR.findall(value)],
        "vm": None,
    }
