# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.baseline import Plan
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.expired_guests import leave_expired

from hosts.movable import CONTAINER, INIT_PID, VM_PID, movable, plant_stat

VM = {"set": "0-7", "only_from": "0-3", "identity": f"vmid 200 pid {VM_PID} starttime 4400", "restores": True}
LXC = {"set": "0-7", "only_from": "0-3", "identity": f"vmid 101 pid {INIT_PID} starttime 3300",
       "restores": True}
SYSCTL = {"vm.swappiness": {"set": "60", "only_from": "10", "restores": True}}


@pytest.fixture
def plan():
    return Plan({"guest_affinity": {"vm:200": VM, "lxc:101": LXC}, "sysctl": SYSCTL},
                {"guest_affinity": {"vm:200": {**VM, "set": "0-3"}, "lxc:101": {**LXC, "set": "0-3"}}}, [])


def test_guests_that_still_run(tree, host, plan):
    movable(tree)
    assert leave_expired(host, plan) == (plan, [])


def test_a_guest_that_was_restarted_with_the_same_number(tree, host, plan):
    movable(tree)
    plant_stat(tree, f"/proc/{VM_PID}/stat", VM_PID, 9900)
    left, expired = leave_expired(host, plan)
    assert left.restore == {"guest_affinity": {"lxc:101": LXC}, "sysctl": SYSCTL}
    assert list(left.expected["guest_affinity"]) == ["lxc:101"]
    assert expired == [{"address": "guest_affinity:vm:200", "expected": "0-3", "reason":
                        f"the guest was restarted since: found vmid 200 pid {VM_PID} starttime 9900, it was vmid 200 "
                        f"pid {VM_PID} starttime 4400"}]


def test_guests_that_have_stopped(tree, host, plan):
    movable(tree).remove("/run/qemu-server/200.pid").file(f"{CONTAINER}/cgroup.events", "populated 0\nfrozen 0")
    left, expired = leave_expired(host, plan)
    assert (left.restore, left.expected) == ({"sysctl": SYSCTL}, {})
    assert [one["reason"] for one in expired] == ["the guest has stopped: VM 200 is not running",
                                                  "the guest has stopped: container 101 is not running"]


def test_a_guest_about_which_nothing_can_be_found_out_stays_in_the_plan(tree, host, plan):
    movable(tree).file(f"/proc/{VM_PID}/stat", "nonsense").file(f"/proc/{INIT_PID}/stat", "nonsense")
    assert leave_expired(host, plan) == (plan, [])
