# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run-time settings that a distribution leaves as they are, and who wants others on a host that serves from GPUs.

What a host has of them depends on its release, its memory and whether a GPU serves from it: its own file says which.
"""
from __future__ import annotations

NMI_WATCHDOG = {"nmi_watchdog": "fail info: 1 -> 0, planned"}
DIRTY = {"dirty_ratio": "fail info: 20 -> at_most 10, planned",
         "dirty_background_ratio": "fail info: 10 -> at_most 5, planned"}
SOCKETS = {"rmem_max": "fail info: 212992 -> at_least 16777216, planned",
           "wmem_max": "fail info: 212992 -> at_least 16777216, planned"}
AUTOGROUP = {"sched_autogroup_enabled": "fail info: 1 -> 0, planned"}
MAP_COUNT = {"max_map_count": "fail info: 65530 -> at_least 262144"}
READ_REQUEST = "fail info: 512 -> 4096, planned"

SOURCES = {
    "nmi_watchdog": "Linux, Documentation/admin-guide/lockup-watchdogs.rst: a perf event on every CPU",
    "dirty_ratio": "Linux, Documentation/admin-guide/sysctl/vm.rst: a share of the memory that is available",
    "dirty_background_ratio": "Linux, Documentation/admin-guide/sysctl/vm.rst: a share of the memory that is available",
    "rmem_max": "Linux, Documentation/admin-guide/sysctl/net.rst: the most that SO_RCVBUF gives",
    "wmem_max": "Linux, Documentation/admin-guide/sysctl/net.rst: the most that SO_SNDBUF gives",
    "pcie_maxreadreq": "Linux, drivers/pci/pci.c: pcie_set_readrq(); operators ask for it, contested",
    "numa_balancing": "Linux, Documentation/admin-guide/sysctl/kernel.rst: numa_balancing, for who places by hand",
}


def sources(*checks: str) -> dict[str, str]:
    return {check: SOURCES[check] for check in checks}
