# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import multiprocessing
import time

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._audit import limit
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._audit.last_run import began, note, states, this_run
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import RecordError

BEGUN, AT, LATER = "2026-12-01T09:59:00Z", "2026-12-01T10:00:00Z", "2026-12-01T10:05:00Z"


def read(folder):
    return json.loads((folder / "last-run.json").read_text())


def test_every_host_of_a_run_has_its_end(tmp_path):
    note(str(tmp_path), "one", ["a", "b", "c"], "b", "findings", AT, BEGUN)
    note(str(tmp_path), "one", ["a", "b", "c"], "a", "ok", AT, BEGUN)
    assert read(tmp_path) == {"schema": "gpuhost.last-run/1", "run": "one", "at": AT,
                              "hosts": {"a": "ok", "b": "findings", "c": "not audited"}}


def test_another_run_begins_anew(tmp_path):
    note(str(tmp_path), "one", ["a", "b"], "a", "ok", AT, BEGUN)
    note(str(tmp_path), "two", ["b"], "b", "unreachable", LATER, AT)
    assert read(tmp_path)["hosts"] == {"b": "unreachable"}


def test_runs_at_the_same_time_are_told_together(tmp_path):
    """As slices of one job: each knows its own hosts, and one begins while another has finished some."""
    note(str(tmp_path), "one", ["a", "b"], "a", "ok", "2026-12-01T10:00:05Z", "2026-12-01T10:00:00Z")
    note(str(tmp_path), "two", ["c", "d"], "c", "ok", "2026-12-01T10:00:20Z", "2026-12-01T10:00:08Z")
    note(str(tmp_path), "one", ["a", "b"], "b", "failed", "2026-12-01T10:00:30Z", "2026-12-01T10:00:00Z")
    note(str(tmp_path), "two", ["c", "d"], "d", "findings", "2026-12-01T10:00:31Z", "2026-12-01T10:00:08Z")
    assert read(tmp_path)["hosts"] == {"a": "ok", "b": "failed", "c": "ok", "d": "findings"}


def test_slices_of_a_job_are_one_run_however_far_apart(tmp_path):
    first, second = (this_run({"awx_workflow_job_id": number}) for number in (7, 7))
    note(str(tmp_path), first, ["a"], "a", "ok", AT, BEGUN)
    note(str(tmp_path), second, ["b"], "b", "ok", LATER, LATER)
    assert read(tmp_path)["hosts"] == {"a": "ok", "b": "ok"}
    assert states(str(tmp_path), first) == {"a": "ok", "b": "ok"}


def test_a_run_began_before_now():
    assert "2026-01-01T00:00:00Z" < began() <= time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@pytest.mark.parametrize("text", ["", "[]", '{"run": "one"}', '{"run": "one", "hosts": 1}'])
def test_a_file_that_is_broken_is_made_anew(tmp_path, text):
    (tmp_path / ".last-runs").mkdir()
    (tmp_path / ".last-runs" / "one.json").write_text(text)
    note(str(tmp_path), "one", ["a"], "a", "ok", AT, BEGUN)
    assert read(tmp_path)["hosts"] == {"a": "ok"}


def test_workers_take_turns(tmp_path):
    hosts = [f"h{number}" for number in range(20)]
    workers = [multiprocessing.Process(target=note, args=(str(tmp_path), "one", hosts, host, "ok", AT, BEGUN))
               for host in hosts]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert read(tmp_path)["hosts"] == dict.fromkeys(hosts, "ok")


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "reports").write_text("a file")
    with pytest.raises(RecordError, match=r"cannot write .*last-run.json: "):
        note(str(tmp_path / "reports"), "one", ["a"], "a", "ok", AT, BEGUN)


def test_one_process_is_one_run():
    assert this_run() == this_run() != ""


def finding(check, priority, verdict="fail", waived=None):
    return {"check": check, "priority": priority, "verdict": verdict, "waived": waived, "subject": None, "actual": 1,
            "recommended": 2, "reason": None,
            "fix": {"class": "manual", "change": None, "how": "do it", "planned": False, "not_planned_because": None}}


FOUND = [finding("acs", "P0"), finding("governor", "P1"), finding("watchdog", "info"),
         finding("swap", "P1", waived={"reason": "ours"}), finding("thp", "P1", "unknown")]


@pytest.mark.parametrize("fail_on, gate", [
    ("", {"limit": None, "exceeded": False, "things": 0, "checks": []}),
    ("P0", {"limit": "P0", "exceeded": True, "things": 1, "checks": ["acs"]}),
    ("P2", {"limit": "P2", "exceeded": True, "things": 2, "checks": ["acs", "governor"]}),
])
def test_what_is_above_a_limit(fail_on, gate):
    assert limit.gate(FOUND, fail_on) == gate


def test_nothing_above_a_limit():
    assert limit.gate(FOUND[1:], "P0") == {"limit": "P0", "exceeded": False, "things": 0, "checks": []}


def test_the_message_begins_with_what_was_set():
    assert limit.message(limit.gate(FOUND, "P1"), "audit_fail_on", "reports/a/system-improve.md") == (
        "audit_fail_on=P1: 2 things to do of priority P1 or above: acs, governor. See reports/a/system-improve.md")
