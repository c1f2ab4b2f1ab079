# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan.persist import find_run, lasting
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import HostFolder, RecordError

FIRST, SECOND, THIRD = (f"20261201T05000{number}Z-000{number}" for number in (1, 2, 3))


def change(address, outcome="changed", after="1", wanted="1"):
    return {"address": address, "before": "0", "wanted": wanted, "after": after, "outcome": outcome, "reason": None}


@pytest.fixture
def folder(tmp_path):
    return HostFolder(str(tmp_path), "pve1")


def record(folder, run_id, *changes, harm=()):
    folder.run(run_id).mkdir(parents=True)
    (folder.run(run_id) / "outcome.json").write_text(json.dumps({
        "schema": "gpuhost.outcome/1", "host": "pve1", "run_id": run_id, "created_at": "", "changes": [*changes],
        "harm": [*harm], "notes": []}))


def test_the_last_run_that_changed_something(folder):
    record(folder, FIRST, change("sysctl:vm.swappiness", after="10"),
           change("pcie_maxreadreq:0000:01:00.0", after=4096, wanted=4096),
           change("sysctl:vm.min_free_kbytes", after="90112", wanted=None),
           change("sysfs:/sys/kernel/mm/ksm/run", outcome="refused"))
    record(folder, SECOND, change("sysctl:vm.swappiness", outcome="unchanged"))
    folder.run(THIRD).mkdir()       # killed, or only predicted
    assert find_run(folder, None) == (FIRST, {"sysctl": {"vm.swappiness": "10"},
                                              "pcie_maxreadreq": {"0000:01:00.0": 4096}})


@pytest.mark.parametrize(("run_id", "message"), [
    (SECOND, f"run {SECOND} changed nothing"),
    (THIRD, f"there is no record of the end of run {THIRD}"),
    ("nonsense", "does not have the form"),
])
def test_a_run_of_which_nothing_can_last(folder, run_id, message):
    record(folder, SECOND, change("sysctl:vm.swappiness", outcome="unchanged"))
    with pytest.raises(RecordError, match=message):
        find_run(folder, run_id)


def test_a_run_that_did_harm_is_not_made_to_last(folder):
    record(folder, FIRST, change("sysctl:vm.swappiness"), harm=[{"device": "0000:01:00.0"}])
    for asked in (None, FIRST):
        with pytest.raises(RecordError, match="was undone, a device was worse off behind it"):
            find_run(folder, asked)


def test_no_record_at_all(folder):
    with pytest.raises(RecordError, match=r"no record of a run that changed something in .*/pve1: run tune_runtime"):
        find_run(folder, None)


def test_a_run_that_only_moved_guests_does_not_hide_the_one_before(folder):
    moved = change("guest_affinity:vm:200", after="0-3", wanted="0-3")
    record(folder, FIRST, change("sysctl:vm.swappiness", after="10"))
    record(folder, SECOND, moved)
    assert find_run(folder, None) == (FIRST, {"sysctl": {"vm.swappiness": "10"}})
    assert find_run(folder, SECOND) == (SECOND, {"guest_affinity": {"vm:200": "0-3"}})


def test_a_run_that_only_moved_guests_is_found_where_there_is_no_other(folder):
    record(folder, FIRST, change("guest_affinity:vm:200", after="0-3", wanted="0-3"))
    assert find_run(folder, None) == (FIRST, {"guest_affinity": {"vm:200": "0-3"}})


def test_cpus_of_running_guests_are_not_persisted_and_say_what_is():
    values = {"sysctl": {"vm.swappiness": "10"},
              "guest_affinity": {"vm:200": "0-3 20201=2", "lxc:101": {"set": "4-7", "only_from": "0-7"}}}
    ends = "the CPUs of a running guest end with it and are not persisted; at each start it gets them by "
    assert lasting(values) == ({"sysctl": {"vm.swappiness": "10"}}, [
        f"guest_affinity:vm:200: {ends}qm set 200 --affinity 0-3",
        f"guest_affinity:lxc:101: {ends}the line lxc.cgroup2.cpuset.cpus: 4-7 in /etc/pve/lxc/101.conf"])
