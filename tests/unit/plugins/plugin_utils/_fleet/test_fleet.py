# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._audit import outputs
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet import fleet as fleet_module
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.files import write_fleet
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records import host_folder
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._rollout import rollout as rollout_state

from audit_document import document, finding

RUN = "20261129T183000Z-4f2a"
CHANGE = {"address": "sysctl:vm.swappiness", "before": "60", "wanted": "10", "after": "10", "outcome": "changed",
          "reason": None}


@pytest.fixture
def audited(tmp_path):
    """Records a host as an audit does."""
    def audited(name, *findings, run_id=RUN, stage="audit"):
        folder = host_folder.HostFolder(str(tmp_path), name)
        made = document(list(findings) or [finding("swappiness", "fail", actual="60")], host=name)
        host_folder.write_audit(folder.path / "audit.json", made)
        outputs.write_for_machines(folder, made, run_id, stage)
        return folder
    return audited


def test_all_that_were_audited_are_there_and_nothing_else(tmp_path, audited):
    audited("pve2")
    audited("pve1")
    (tmp_path / "index.html").write_text("an earlier page")
    (tmp_path / "never-audited").mkdir()
    fleet = fleet_module.collect(str(tmp_path))
    assert list(fleet.hosts) == ["pve1", "pve2"]
    assert (fleet.hosts["pve1"]["failing"]["P2"], fleet.hosts["pve1"]["runs"]) == (1, [])
    assert fleet.checks["swappiness"]["title"] == "Title of swappiness"
    assert fleet.problems == {}


def test_a_folder_that_is_not_there_yet_is_an_empty_fleet(tmp_path):
    assert fleet_module.collect(str(tmp_path / "reports")).hosts == {}


def test_the_audit_alone_will_do(tmp_path, audited):
    folder = audited("pve1")
    whole = fleet_module.collect(str(tmp_path))
    for name in ("fleet.json", "history.json", "junit.xml", "findings.jsonl", "gpuhost.prom"):
        (folder.path / name).unlink()
    alone = fleet_module.collect(str(tmp_path))
    assert json.dumps(alone.hosts["pve1"]["findings"]) == json.dumps(whole.hosts["pve1"]["findings"])
    assert alone.hosts["pve1"]["model"] == whole.hosts["pve1"]["model"]
    assert alone.hosts["pve1"]["audits"] == []


def test_the_audit_counts_where_the_row_beside_it_is_of_another(tmp_path, audited):
    folder = audited("pve1")
    host_folder.write_audit(folder.path / "audit.json", document([finding("swappiness", "pass", actual="10")]))
    assert fleet_module.collect(str(tmp_path)).hosts["pve1"]["findings"][0].actual == "10"


@pytest.mark.parametrize("text, message", [
    ("{", "not JSON"), ("[]", "not written by this collection"), ('{"facts": {}}', "not written by this collection")])
def test_a_broken_record_is_shown_and_stops_nothing(tmp_path, audited, text, message):
    audited("pve1")
    (audited("pve2").path / "audit.json").write_text(text)
    fleet = fleet_module.collect(str(tmp_path))
    assert list(fleet.hosts) == ["pve1"]
    assert message in fleet.problems["pve2"]


@pytest.mark.parametrize("change", [
    {"collected_at": {}}, {"profile": ["<b>"]}, {"summary": {"failing": {"P0": "many"}, "verdicts": {}, "waived": 0}},
    {"findings": [finding("swappiness", "perhaps")]}, {"findings": [finding("swappiness", "fail", priority="P9")]},
    {"findings": [finding(["a", "list"], "fail")]}, {"findings": "none"}, {"facts": []}])
def test_a_record_that_was_tampered_with_costs_nobody_the_page(tmp_path, audited, change):
    audited("pve1")
    host_folder.write_json(audited("pve2").path / "audit.json", document([], host="pve2") | change)
    write_fleet(str(tmp_path))
    assert "pve1" in (tmp_path / "fleet.md").read_text()
    assert "pve2" in (tmp_path / "fleet.md").read_text()


def test_checks_that_only_one_host_has_are_explained_too(tmp_path, audited):
    audited("pve1")
    audited("pve2", finding("own_check", "pass"))
    assert set(fleet_module.collect(str(tmp_path)).checks) == {"swappiness", "own_check"}


def test_what_runs_did_is_told_with_before_and_after(tmp_path, audited):
    folder = audited("pve1")
    skipped = CHANGE | {"address": "module:nvidia_peermem", "outcome": "skipped", "after": None, "reason": "no RDMA"}
    outputs.write_outcome(folder, {"run_id": RUN, "time": "2026-11-29T18:31:00Z", "planned": [skipped, CHANGE],
                                   "changes": [CHANGE], "harm": [{"device": "0000:01:00.0", "what": "is gone"}],
                                   "notes": []})
    assert fleet_module.collect(str(tmp_path)).hosts["pve1"]["runs"] == [{
        "id": RUN, "state": "finished", "outcomes": {"changed": 1, "skipped": 1}, "harm": ["0000:01:00.0: is gone"],
        "changes": [["sysctl:vm.swappiness", "60", "10", "10", "changed", ""],
                    ["module:nvidia_peermem", "60", "10", "-", "skipped", "no RDMA"]]}]


def test_a_run_without_an_outcome_is_not_called_finished(tmp_path, audited):
    folder = audited("pve1")
    predicted = CHANGE | {"outcome": "would_change", "after": None}
    host_folder.write_json(folder.run(RUN) / "before.json", {"changes": [predicted]})
    (folder.path / "20261130T183000Z-0b1c").mkdir()
    newest, older = fleet_module.collect(str(tmp_path)).hosts["pve1"]["runs"]
    assert (newest["id"], newest["state"]) == ("20261130T183000Z-0b1c", "unreadable")
    assert (older["state"], older["outcomes"], older["changes"]) == ("not finished", {"would change": 1}, [])


@pytest.mark.parametrize("name", ["bandwidth.json", "benchmark.json", "experiment.json"])
def test_a_run_that_only_measured_is_none_that_was_to_change_something(tmp_path, audited, name):
    folder = audited("pve1")
    host_folder.write_json(folder.run(RUN) / name, {})
    assert fleet_module.collect(str(tmp_path)).hosts["pve1"]["runs"] == []


def test_drift_is_that_of_the_history(tmp_path, audited):
    audited("pve1")
    audited("pve1", finding("swappiness", "pass", actual="10"), run_id="20261130T183000Z-0b1c")
    row = fleet_module.collect(str(tmp_path)).hosts["pve1"]
    assert row["drift"] == [{"check": "swappiness", "subject": "", "was": ["fail", "60"], "now": ["pass", "10"]}]
    assert [audit["run_id"] for audit in row["audits"]] == [RUN, "20261130T183000Z-0b1c"]


def test_the_last_rollout_over_several_hosts_tells_every_state_also_of_hosts_without_an_audit(tmp_path, audited):
    assert fleet_module.collect(str(tmp_path)).rollout is None
    audited("pve1")
    rollout = rollout_state.start(str(tmp_path), RUN, ["pve1", "pve2", "pve3", "pve4"], check=False)
    rollout.document["batches"] = [{"hosts": ["pve1"], "passed": True}, {"hosts": ["pve2", "pve3"], "passed": None}]
    rollout.save()
    rollout.note("pve1", rollout_state.CHANGED, [])
    rollout.note("pve2", rollout_state.UNREACHABLE, ["no route to host\x07"])
    rollout_state.start(str(tmp_path), "20261130T183000Z-0b1c", ["pve1"], check=False)
    last = fleet_module.collect(str(tmp_path)).rollout
    assert (last["run_id"], last["ended"]) == (RUN, "ended in batch 2, before its gate")
    assert last["hosts"] == [
        ["pve1", "1", "changed", ""], ["pve2", "2", "unreachable", r"no route to host\x07"],
        ["pve3", "2", "ungated", ""],
        ["pve4", "-", "waiting", ""]]


def test_a_rollout_that_cannot_be_read_hides_nothing_else(tmp_path, audited):
    audited("pve1")
    folder = tmp_path / ".rollouts" / RUN
    folder.mkdir(parents=True)
    (folder / "rollout.json").write_text("{")
    fleet = fleet_module.collect(str(tmp_path))
    assert (fleet.rollout, list(fleet.hosts)) == (None, ["pve1"])
