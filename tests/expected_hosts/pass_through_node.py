# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node whose GPUs are all VMs', and the same with one that serves from the host."""
from __future__ import annotations

from hosts.pass_through_node import CARDS, node_of_vms, node_with_one_left

from . import Expected
from .settings import AUTOGROUP, DIRTY, MAP_COUNT, NMI_WATCHDOG, READ_REQUEST, SOCKETS, sources

DEEP_IDLE = {"cstate_latency": {("state2",): "fail info: false -> true"}}
NOBODY = "no GPU is used by this host"

HOSTS = (
    # What is advised for serving is no advice to a host that serves nothing; memory is its own, whoever has the GPUs.
    Expected(
        node_of_vms, {**DIRTY, **DEEP_IDLE}, (),
        sources("dirty_ratio", "dirty_background_ratio"),
        dict.fromkeys(("numa_balancing", "nmi_watchdog", "sched_autogroup_enabled", "rmem_max", "wmem_max",
                       "max_map_count"), NOBODY)),
    Expected(
        node_with_one_left,
        {**NMI_WATCHDOG, **DIRTY, **SOCKETS, **AUTOGROUP, **MAP_COUNT, **DEEP_IDLE,
         "numa_balancing": "fail P1: 1 -> 0, planned", "pcie_maxreadreq": {CARDS[3:]: READ_REQUEST}},
        ("numa_balancing",),
        sources("numa_balancing", "nmi_watchdog", "dirty_ratio", "dirty_background_ratio", "rmem_max", "wmem_max",
                "pcie_maxreadreq")),
)
