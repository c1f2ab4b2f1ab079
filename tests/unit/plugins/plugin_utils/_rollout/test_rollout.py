# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import subprocess

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import RecordError
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._rollout import rollout as rollout_state

RUN = "20261129T183000Z-4f2a"


def start(reports, hosts=("a", "b", "c"), batches=(("a",),)):
    rollout = rollout_state.start(str(reports), RUN, list(hosts), check=False)
    rollout.document["batches"] = [{"hosts": list(batch), "passed": None} for batch in batches]
    rollout.save()
    return rollout


def test_a_host_is_waiting_then_ungated_then_what_was_put_down(tmp_path):
    rollout = start(tmp_path, batches=[["a", "b"]])
    rollout_state.note(str(tmp_path), RUN, "a", rollout_state.CHANGING, sysroot="/", reasons=[])
    assert {host: entry["state"] for host, entry in rollout.states().items()} == {
        "a": "changing", "b": "ungated", "c": "waiting"}


def test_what_was_known_of_a_host_stays(tmp_path):
    rollout = start(tmp_path)
    rollout_state.note(str(tmp_path), RUN, "a", rollout_state.CHANGING, sysroot="/", reasons=[])
    rollout_state.note(str(tmp_path), RUN, "a", rollout_state.CHANGED, changed={"sysctl:vm.swappiness": "10"})
    entry = rollout.states()["a"]
    assert (entry["state"], entry["sysroot"], entry["changed"]) == ("changed", "/", {"sysctl:vm.swappiness": "10"})


def test_without_a_rollout_nothing_is_put_down(tmp_path):
    rollout_state.note(str(tmp_path), RUN, "a", rollout_state.CHANGED)
    assert list(tmp_path.iterdir()) == []


def test_a_rollout_is_found_again_and_knows_its_last_batch(tmp_path):
    first = start(tmp_path, batches=[["a"], ["b"]])
    again = rollout_state.load(first.folder)
    assert (again.run_id, again.reached, again.is_last) == (RUN, ["a", "b"], False)
    assert start(tmp_path, batches=[["a"], ["b", "c"]]).is_last


def test_the_same_id_once_more_starts_anew(tmp_path):
    start(tmp_path)
    rollout_state.note(str(tmp_path), RUN, "a", rollout_state.CHANGED)
    assert start(tmp_path, batches=[]).states()["a"]["state"] == "waiting"


def test_a_record_that_is_cut_says_so(tmp_path):
    rollout = start(tmp_path)
    (rollout.folder / "rollout.json").write_text(json.dumps({})[:1])
    with pytest.raises(RecordError, match="is not JSON"):
        rollout_state.load(rollout.folder)


def test_the_newest_comes_first_and_what_cannot_be_read_is_left_out(tmp_path):
    for run_id, hosts in (("20261129T183000Z-0001", ["a", "b"]), ("20261129T183100Z-0002", ["a", "c"]),
                          ("20261129T183200Z-0003", ["alone"]), ("20261129T183300Z-0004", ["a", "d"])):
        rollout_state.start(str(tmp_path), run_id, hosts, check=False)
    (tmp_path / ".rollouts" / "20261129T183300Z-0004" / "rollout.json").write_text("{")
    assert [rollout.document["hosts"] for rollout in rollout_state.newest(str(tmp_path))] == [["a", "c"], ["a", "b"]]
    assert list(rollout_state.newest(str(tmp_path / "none"))) == []


def test_a_rollout_runs_as_long_as_the_process_that_began_it(tmp_path):
    """Here that is the parent of the tests. A later process of the same number was born later."""
    rollout = start(tmp_path)
    assert rollout_state.load(rollout.folder).runs
    rollout.document["process"]["born"] -= 1
    assert not rollout.runs
    gone = subprocess.Popen(["true"])
    gone.wait()
    rollout.document["process"] = {**rollout.document["process"], "id": gone.pid, "born": None}
    assert not rollout.runs
    del rollout.document["process"]     # of a record that does not say
    assert not rollout.runs


def test_what_was_told_is_on_record(tmp_path):
    rollout = start(tmp_path)
    assert rollout_state.load(rollout.folder).document["told_at"] is None
    rollout.tell()
    assert rollout_state.load(rollout.folder).document["told_at"].endswith("Z")
