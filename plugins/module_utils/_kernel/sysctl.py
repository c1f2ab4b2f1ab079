# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Sysctls: the path of a key below /proc/sys, and the values that checks use."""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import Reading

PROC_SYS = "/proc/sys"

# Documentation/admin-guide/sysctl/{kernel,vm,net}.rst and Documentation/networking/ip-sysctl.rst
SYSCTLS = (
    "kernel.numa_balancing",
    "kernel.nmi_watchdog",
    "kernel.watchdog",
    "kernel.sched_autogroup_enabled",
    "kernel.perf_event_paranoid",
    "kernel.dmesg_restrict",
    "kernel.timer_migration",
    "vm.swappiness",
    "vm.dirty_ratio",
    "vm.dirty_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_background_bytes",
    "vm.zone_reclaim_mode",
    "vm.min_free_kbytes",
    "vm.compaction_proactiveness",
    "vm.max_map_count",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.nr_hugepages",
    "vm.stat_interval",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.rmem_default",
    "net.core.wmem_default",
    "net.core.netdev_max_backlog",
    "net.core.somaxconn",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.ip_local_port_range",
)

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]*")
_SWAP = str.maketrans("./", "/.")


def key_to_path(key: str) -> str:
    """Convert `vm.swappiness` to /proc/sys/vm/swappiness. Raises ValueError that names the key.

    As in sysctl(8), the first separator decides: `net.ipv4.conf.eth0/100.rp_filter` and
    `net/ipv4/conf/eth0.100/rp_filter` both mean the interface eth0.100.
    """
    first = next((sign for sign in key if sign in "./"), None)
    parts = (key.translate(_SWAP) if first == "." else key).split("/")
    if len(parts) < 2:
        raise ValueError(f"{key!r} is not a sysctl key: a component before the name is missing, as in vm.swappiness")
    if key.startswith("/"):
        raise ValueError(f"{key!r} is not a sysctl key: give it without {PROC_SYS}, as in vm.swappiness")
    for part in parts:
        if not _PART.fullmatch(part):
            raise ValueError(f"{key!r} is not a sysctl key: {part!r} cannot be a name in it")
    return "/".join([PROC_SYS, *parts])


def path_to_key(path: str) -> str:
    """Return the dotted form of the sysctl at `path`."""
    return path[len(PROC_SYS) + 1:].translate(_SWAP)


def read_sysctl(host: Host, key: str) -> Reading:
    """Read one sysctl as the kernel prints it: tabs between several numbers stay."""
    return host.read(key_to_path(key))


def read(host: Host) -> dict:
    """Read the facts' section `sysctl`."""
    return {key: read_sysctl(host, key) for key in SYSCTLS}
