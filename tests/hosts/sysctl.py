# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sysctls of a planted host."""
from __future__ import annotations

from .tree import Tree

# Defaults of a 6.8 kernel on a server with two NUMA nodes and 512 GiB;
# perf_event_paranoid and dmesg_restrict as Ubuntu builds it.
STOCK = {
    "kernel.numa_balancing": "1",
    "kernel.nmi_watchdog": "1",
    "kernel.watchdog": "1",
    "kernel.sched_autogroup_enabled": "1",
    "kernel.perf_event_paranoid": "4",
    "kernel.dmesg_restrict": "1",
    "kernel.timer_migration": "1",
    "vm.swappiness": "60",
    "vm.dirty_ratio": "20",
    "vm.dirty_bytes": "0",
    "vm.dirty_background_ratio": "10",
    "vm.dirty_background_bytes": "0",
    "vm.zone_reclaim_mode": "0",
    "vm.min_free_kbytes": "90112",
    "vm.compaction_proactiveness": "20",
    "vm.max_map_count": "65530",
    "vm.overcommit_memory": "0",
    "vm.overcommit_ratio": "50",
    "vm.nr_hugepages": "0",
    "vm.stat_interval": "1",
    "net.core.rmem_max": "212992",
    "net.core.wmem_max": "212992",
    "net.core.rmem_default": "212992",
    "net.core.wmem_default": "212992",
    "net.core.netdev_max_backlog": "1000",
    "net.core.somaxconn": "4096",
    "net.core.busy_poll": "0",
    "net.core.busy_read": "0",
    "net.core.default_qdisc": "pfifo_fast",
    "net.ipv4.tcp_rmem": "4096\t131072\t6291456",
    "net.ipv4.tcp_wmem": "4096\t16384\t4194304",
    "net.ipv4.tcp_mem": "6180048\t8240066\t12360096",
    "net.ipv4.tcp_congestion_control": "cubic",
    "net.ipv4.ip_local_port_range": "32768\t60999",
}


def plant_sysctls(tree: Tree, values: dict[str, str | int | None] | None = None) -> None:
    """The defaults with `values` replacing some of them; None is a key that this kernel does not have."""
    for key, value in {**STOCK, **(values or {})}.items():
        if value is not None:
            tree.sysctl(key, value)
