# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from hosts.movable import CONTAINER, INIT_PID, movable, plant_stat


@pytest.fixture
def root(tree):
    return str(movable(tree).root)


def test_without_a_wanted_value_it_only_reads_all_running_guests_or_those_named(call, root, tree):
    for names, found in (([], ["lxc:101", "vm:200"]), (["vm:200", "vm:300"], ["vm:200", "vm:300"])):
        result = call("guest_affinity", {"sysroot": root, "guests": names})
        assert [reading["address"] for reading in result["readings"]] == [f"guest_affinity:{name}" for name in found]
    assert [(one["status"], one["value"]) for one in result["readings"]] == [("ok", "0-7"), ("absent", None)]
    assert (result["changed"], tree.path("/run/gpuhost").exists()) == (False, False)


def test_there_and_back(call, root):
    values = {"lxc:101": "0-3"}
    predicted = call("guest_affinity", {"sysroot": root, "values": values}, check=True, diff=True)
    done = call("guest_affinity", {"sysroot": root, "values": values}, diff=True)
    assert predicted["diff"] == done["diff"] == {"before": "guest_affinity:lxc:101 = 0-7\n",
                                                 "after": "guest_affinity:lxc:101 = 0-3\n"}
    assert call("guest_affinity", {"sysroot": root, "values": values})["changed"] is False
    assert call("guest_affinity", {"sysroot": root, "values": done["snapshot"]})["changed"] is True
    assert call("guest_affinity", {"sysroot": root, "guests": ["lxc:101"]})["readings"][0]["value"] == "0-7"


def test_a_refused_guest_fails_and_the_other_is_moved(call, root, tree):
    result = call("guest_affinity", {"sysroot": root, "values": {"vm:201": "0-3", "lxc:101": "0-3"}})
    assert result["failed"]
    assert "guest_affinity:vm:201: refused: wanted 0-3, found nothing: absent: this node has no VM 201" in result["msg"]
    assert tree.path(f"{CONTAINER}/cpuset.cpus").read_text() == "0-3\n"


def test_a_guest_that_yaml_took_for_a_number(call, root):
    assert "'101' is not a guest of Proxmox VE, such as vm:200 or lxc:101" in call(
        "guest_affinity", {"sysroot": root, "values": {101: "0-3"}})["msg"]


def test_the_journal_leaves_out_a_container_that_was_restarted(call, root, tree):
    call("guest_affinity", {"sysroot": root, "values": {"lxc:101": "0-3"}})
    kept = call("journal_info", {"sysroot": root})
    assert kept["restore_values"] == {"guest_affinity": {"lxc:101": {
        "set": "0-7", "only_from": "0-3", "identity": f"vmid 101 pid {INIT_PID} starttime 3300",
        "restores": True}}}
    assert kept["expired"] == []
    plant_stat(tree, f"/proc/{INIT_PID}/stat", INIT_PID, 9900)
    gone = call("journal_info", {"sysroot": root})
    assert (gone["restore_values"], gone["expected_values"]) == ({}, {})
    assert [(one["address"], one["expected"]) for one in gone["expired"]] == [("guest_affinity:lxc:101", "0-3")]
