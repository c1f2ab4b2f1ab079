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
NO_QUORUM = "the cluster is not quorate, so /etc/pve is read-only: see to its quorum first"


@pytest.mark.parametrize("text, subject, facts, reason", [
    ("setpci -s 0000:01:00.0 CAP_EXP+8.w=5000:7000", None, host(lockdown="integrity"), LOCKED_DOWN),
    ("setpci -s 0000:01:00.0 CAP_EXP+8.w=5000:7000", None, host(), None),
    ("echo on > /sys/bus/pci/devices/0000:01:00.0/power/control", None, host(lockdown="integrity"), None),
    ("Take the line out of /etc/pve/lxc/101.conf.", "lxc:101", host(quorum="not_quorate"), NO_QUORUM),
    ("Look at it, then qm set 200 --affinity 0-31", "vm:200", host(quorum="not_quorate"), NO_QUORUM),
    ("Edit /etc/default/grub.", None, host(quorum="not_quorate"), None),
    ("Take the line out, then pct reboot 101.", "lxc:101", host(lock="backup"),
     "container 101 is locked (backup): wait for its end"),
    ("Take the line out, then pct reboot 101.", "lxc:101", host(), None),
    ("qm set 200 --affinity 0-31", "vm:200", host(), "VM 200 is locked (migrate): wait for its end"),
    # What could not be read forbids nothing: the program itself will say so.
    ("setpci -s 0000:01:00.0 CAP_EXP+8.w=5000:7000", None,
     {"kernel": {"lockdown": {"status": "denied", "value": None}}}, None),
    ("qm set 200 --affinity 0-31", "vm:200", {}, None),
])
def test_an_action_is_forbidden_by_what_it_names(text, subject, facts, reason):
    assert forbidden(text, subject, facts) == reason
