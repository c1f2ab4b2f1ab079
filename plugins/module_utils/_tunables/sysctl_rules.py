# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Rules for single sysctls: those never read, those never written, ranges, and coupled ones."""
from __future__ import annotations

import fnmatch

from .._redaction.names import CERTAIN, secrecy

# Neither read nor written: a value that is read is stored in records, one that is written in the journal.
_SECRETS = (
    ("net.ipv4.tcp_fastopen_key", "it is a secret: with it TCP Fast Open cookies can be forged"),
    ("net.ipv6.conf.*.stable_secret", "it is a secret: the host's addresses are derived from it"),
    ("net.core.netdev_rss_key", "it is a secret: it determines which packets share a queue"),
)

# A read is useless, fails, or has an effect.
NEVER_READ = (
    ("kernel.random.uuid", "every read returns another value"),
    ("kernel.random.entropy_avail", "the kernel changes it"),
    ("kernel.ns_last_pid", "the kernel changes it"),
    ("fs.file-nr", "the kernel changes it"),
    ("fs.inode-nr", "the kernel changes it"),
    ("fs.inode-state", "the kernel changes it"),
    ("fs.dentry-state", "the kernel changes it"),
    ("fs.aio-nr", "the kernel changes it"),
    ("kernel.pty.nr", "the kernel changes it"),
    ("vm.stat_refresh", "reading it makes every CPU fold its counters"),
    ("vm.drop_caches", "a write drops caches, and there is nothing to read"),
    ("vm.compact_memory", "a write compacts memory, and there is nothing to read"),
    ("net.ipv4.route.flush", "a write flushes routes, and there is nothing to read"),
    ("net.ipv6.route.flush", "a write flushes routes, and there is nothing to read"),
    ("net.ipv*.neigh.*.flush", "a write flushes neighbours, and there is nothing to read"),
    *_SECRETS,
)

# A write cannot be undone, or gives control of the host away.
NEVER_WRITTEN = (
    ("kernel.modules_disabled", "once set it cannot be changed until the next boot"),
    ("kernel.kexec_load_disabled", "once set it cannot be changed until the next boot"),
    ("kernel.kexec_load_limit_*", "it can only be lowered"),
    ("kernel.unprivileged_bpf_disabled", "the value 1 cannot be changed until the next boot"),
    ("kernel.yama.ptrace_scope", "the value 3 cannot be changed until the next boot"),
    ("kernel.cad_pid", "it sets the process that Ctrl-Alt-Del signals"),
    ("kernel.modprobe", "it sets a program that the kernel runs as root"),
    ("kernel.hotplug", "it sets a program that the kernel runs as root"),
    ("kernel.poweroff_cmd", "it sets a program that the kernel runs as root"),
    ("kernel.core_pattern", "it can set a program that the kernel runs as root"),
    ("kernel.usermodehelper.*", "it limits programs that the kernel runs as root, and can only be reduced"),
    ("kernel.cap_last_cap", "it is a constant of the kernel"),
    ("kernel.random.*", "it belongs to the random number generator"),
    ("kernel.ftrace_*", "it belongs to tracing"),
    ("kernel.stack_tracer_enabled", "it belongs to tracing"),
    ("fs.binfmt_misc.*", "it registers interpreters that the kernel runs"),
    *_SECRETS,
)

INT_MAX = (1 << 31) - 1
LONG_MAX = (1 << 63) - 1

# Smallest and largest number that the kernel accepts; EINVAL outside.
RANGES = {
    "kernel.numa_balancing": (0, 4),            # sysctl_numa_balancing in kernel/sched/core.c
    "kernel.nmi_watchdog": (0, 1),              # watchdog_sysctls in kernel/watchdog.c
    "kernel.soft_watchdog": (0, 1),
    "kernel.watchdog": (0, 1),
    "kernel.watchdog_thresh": (0, 60),
    "kernel.sched_autogroup_enabled": (0, 1),   # kernel/sched/autogroup.c
    "kernel.timer_migration": (0, 1),           # kernel/time/timer.c
    "kernel.dmesg_restrict": (0, 1),            # kernel/printk/sysctl.c
    "vm.swappiness": (0, 200),                  # mm/vmscan.c
    "vm.dirty_ratio": (0, 100),                 # vm_page_writeback_sysctls in mm/page-writeback.c
    "vm.dirty_background_ratio": (0, 100),
    "vm.dirty_bytes": (2 * 4096, LONG_MAX),     # dirty_bytes_min: two pages
    "vm.dirty_background_bytes": (1, LONG_MAX),
    "vm.zone_reclaim_mode": (0, INT_MAX),
    "vm.min_free_kbytes": (0, INT_MAX),
    "vm.compaction_proactiveness": (0, 100),    # mm/compaction.c
    "vm.max_map_count": (0, INT_MAX),
    "vm.overcommit_memory": (0, 2),
    "vm.overcommit_ratio": (0, INT_MAX),
    "vm.vfs_cache_pressure": (0, INT_MAX),
    "net.core.rmem_max": (2304, INT_MAX),       # SOCK_MIN_RCVBUF in include/net/sock.h
    "net.core.rmem_default": (2304, INT_MAX),
    "net.core.wmem_max": (4608, INT_MAX),       # SOCK_MIN_SNDBUF
    "net.core.wmem_default": (4608, INT_MAX),
    "net.core.somaxconn": (0, INT_MAX),
    "net.core.busy_poll": (0, INT_MAX),
    "net.core.busy_read": (0, INT_MAX),
}

# (ratio, the same setting in bytes): a write to one sets the other to zero.
PAIRS = (
    ("vm.dirty_ratio", "vm.dirty_bytes"),
    ("vm.dirty_background_ratio", "vm.dirty_background_bytes"),
    ("vm.overcommit_ratio", "vm.overcommit_kbytes"),
)

# A write to kernel.watchdog changes the other two, so it comes first (proc_watchdog() in kernel/watchdog.c).
WATCHDOGS = ("kernel.watchdog", "kernel.soft_watchdog", "kernel.nmi_watchdog")

MOVED = {
    "kernel.sched_migration_cost_ns": "since Linux 5.13 /sys/kernel/debug/sched/migration_cost_ns",
    "kernel.sched_latency_ns": "since Linux 5.13 /sys/kernel/debug/sched/latency_ns, gone with 6.6",
    "kernel.sched_min_granularity_ns": "since Linux 5.13 /sys/kernel/debug/sched/min_granularity_ns, gone with 6.6",
    "kernel.sched_wakeup_granularity_ns": "since Linux 5.13 /sys/kernel/debug/sched/wakeup_granularity_ns, "
                                          "gone with 6.6",
    "kernel.sched_nr_migrate": "since Linux 5.13 /sys/kernel/debug/sched/nr_migrate",
}


def never_read(key: str) -> str | None:
    """Return why a sysctl is not even read, None if it may be."""
    return _first(NEVER_READ, key)


def never_written(key: str) -> str | None:
    """Return why a sysctl is not written, None if it may be."""
    return _first(NEVER_WRITTEN, key)


def _first(rules: tuple[tuple[str, str], ...], key: str) -> str | None:
    named = next((why for pattern, why in rules if fnmatch.fnmatchcase(key, pattern)), None)
    return named or ("its name indicates a secret" if secrecy(key) == CERTAIN else None)
