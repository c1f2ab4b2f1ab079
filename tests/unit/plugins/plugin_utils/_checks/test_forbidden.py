# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.forbidden import forbidden


def host(lockdown="none", quorum="quorate", lock=None):
    def ok(value):
        return {"status": "ok", "value": value}

    return {"kernel": {"lockdown": ok(lockdown)}, "cluster": {"quorum": ok(quorum)},
            "guests": {"containers": ok([{"id": "101", "lock": lock}]), "vms": ok([{"id": "200", "lock": "migrate"}])}}


LOCKED_DOWN = "kernel lockdown (integrity) refuses writes to PCI config space"
NO_QUORUM = "the cluster has no quorum, so /etc/pve is read-only: restore the quorum first"


@pytest.mark.parametrize("text, subject, facts, reason", [
    ("setpci -s 0000:01:00.0 CAP_EXP+8.w=5000:7000", None, host(lockdown="integrity"), LOCKED_DOWN),
    ("setpci -s 0000:01:00.0 CAP_EXP+8.w=5000:7000", None, host(), None),
    ("echo on > /sys/bus/pci/devices/0000:01:00.0/power/control", None, host(lockdown="integrity"), None),
    ("Take the line out of /etc/pve/lxc/101.conf.", "lxc:101", host(quorum="not_quorate"), NO_QUORUM),
    ("Look at it, then qm set 200 --affinity 0-31", "vm:200", host(quorum="not_quorate"), NO_QUORUM),
    ("Edit /etc/default/grub.", None, host(quorum="not_quorate"), None),
    ("Take the line out, then pct reboot 101.", "lxc:101", host(lock="backup"),
     "container 101 is locked (backup): wait until it is unlocked"),
    ("Take the line out, then pct reboot 101.", "lxc:101", host(), None),
    ("qm set 200 --affinity 0-31", "vm:200", host(), "VM 200 is locked (migrate): wait until it is unlocked"),
    # What could not be read forbids nothing: the program itself will say so.
    ("setpci -s 0000:01:00.0 CAP_EXP+8.w=5000:7000", None,
     {"kernel": {"lockdown": {"status": "denied", "value": None}}}, None),
    ("qm set 200 --affinity 0-31", "vm:200", {}, None),
])
def test_an_action_is_forbidden_by_what_it_names(text, subject, facts, reason):
    assert forbidden(text, subject, facts) == reason


SYS = "/sys is mounted read-only, as in containers: change it on the host itself"
PROC_SYS = "/proc/sys is mounted read-only, as in containers: change it on the host itself"


def mounted(*read_only, writable=()):
    return {"kernel": {"mounts": {"status": "ok", "value": [
        *({"path": path, "read_only": True} for path in read_only),
        *({"path": path, "read_only": False} for path in writable)]}}}


@pytest.mark.parametrize("text, facts, reason", [
    ("echo on > /sys/bus/pci/devices/0000:01:00.0/power/control", mounted("/sys"), SYS),
    ("echo 'always' > /sys/kernel/mm/transparent_hugepage/enabled", mounted("/sys"), SYS),
    ("for file in /sys/devices/system/cpu/cpu*/online; do echo 1 > \"$file\"; done", mounted("/sys"), SYS),
    ("sysctl -w kernel.numa_balancing=0", mounted("/proc/sys"), PROC_SYS),
    ("sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'", mounted("/proc/sys"), PROC_SYS),
    # The nearest mount decides, in either direction.
    ("sysctl -w net.core.somaxconn=4096", mounted("/proc/sys", writable=["/proc/sys/net"]), None),
    ("sysctl -w vm.swappiness=10", mounted("/proc/sys", writable=["/proc/sys/net"]), PROC_SYS),
    ("echo 1 > /sys/kernel/mm/ksm/run", mounted(writable=["/sys"]), None),
    ("echo 1 > /sys/kernel/mm/ksm/run", mounted("/sysroot"), None),
    ("Edit /etc/default/grub.", mounted("/sys", "/proc/sys"), None),
    ("modprobe nvidia_peermem", mounted("/sys", "/proc/sys"), None),
    # Reading is possible.
    ("grep . /sys/bus/pci/devices/0000:01:00.0/aer_dev_correctable twice", mounted("/sys"), None),
    ("echo 1 > /sys/kernel/mm/ksm/run", {"kernel": {"mounts": {"status": "denied", "value": None}}}, None),
    ("echo 1 > /sys/kernel/mm/ksm/run", {}, None),
])
def test_a_file_on_a_read_only_mount_gets_no_command(text, facts, reason):
    assert forbidden(text, None, facts) == reason
