# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.gather import gather
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records import history
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import RecordError

from audit_document import document, finding

RUN = "20261129T183000Z-4f2a"


def audit(folder, host, at, actual="60", boot="b1"):
    """What an audit leaves, with a history that knows what was there before."""
    path = folder / host
    path.mkdir(parents=True, exist_ok=True)
    found = document([finding("swappiness", "fail", actual=actual)], host=host) | {"collected_at": at, "boot_id": boot}
    known = history.add(history.read(path / "history.json"), found, f"run-{at}", "audit")
    (path / "history.json").write_text(json.dumps(known))
    with (path / "audit.json").open("w") as stream:
        json.dump(found, stream, indent=1)
    return path


def read(path):
    return json.loads(path.read_text())


def test_hosts_of_other_controllers_are_there_and_the_newest_audit_counts(tmp_path):
    audit(tmp_path / "here", "a", "2026-12-01T10:00:00Z")
    audit(tmp_path / "one", "a", "2026-12-01T11:00:00Z", actual="10")
    audit(tmp_path / "one", "b", "2026-12-01T11:00:00Z")
    audit(tmp_path / "two", "a", "2026-12-01T09:00:00Z", actual="5")
    taken = gather(str(tmp_path / "here"), [str(tmp_path / "one"), str(tmp_path / "two")])
    assert taken == {"a": [str(tmp_path / "one")], "b": [str(tmp_path / "one")]}
    assert read(tmp_path / "here" / "a" / "audit.json")["findings"][0]["actual"] == "10"
    assert (tmp_path / "one" / "b" / "audit.json").exists()


def test_histories_are_joined_and_drift_is_seen_between_controllers(tmp_path):
    audit(tmp_path / "here", "a", "2026-12-01T10:00:00Z")
    audit(tmp_path / "one", "a", "2026-12-01T11:00:00Z", actual="10")
    gather(str(tmp_path / "here"), [str(tmp_path / "one")])
    known = read(tmp_path / "here" / "a" / "history.json")
    assert [one["at"] for one in known["audits"]] == ["2026-12-01T10:00:00Z", "2026-12-01T11:00:00Z"]
    assert known["since"] == "2026-12-01T10:00:00Z"
    assert [(one["was"], one["now"]) for one in known["drift"]] == [(["fail", "60"], ["fail", "10"])]


def test_to_gather_again_changes_nothing(tmp_path):
    audit(tmp_path / "one", "a", "2026-12-01T11:00:00Z")
    gather(str(tmp_path / "here"), [str(tmp_path / "one")])
    before = {path: path.read_bytes() for path in (tmp_path / "here").rglob("*") if path.is_file()}
    assert gather(str(tmp_path / "here"), [str(tmp_path / "one")]) == {}
    assert {path: path.read_bytes() for path in (tmp_path / "here").rglob("*") if path.is_file()} == before


def test_runs_of_an_older_audit_are_kept_and_links_are_not_followed(tmp_path):
    audit(tmp_path / "here", "a", "2026-12-01T12:00:00Z")
    path = audit(tmp_path / "one", "a", "2026-12-01T11:00:00Z")
    (path / RUN).mkdir()
    (path / RUN / "before.json").write_text("{}")
    (path / RUN / "plan.json").symlink_to("/etc/hostname")
    gather(str(tmp_path / "here"), [str(tmp_path / "one")])
    assert sorted(one.name for one in (tmp_path / "here" / "a" / RUN).iterdir()) == ["before.json"]


def test_the_time_of_an_audit_stays_so_that_its_row_is_valid(tmp_path):
    path = audit(tmp_path / "one", "a", "2026-12-01T11:00:00Z")
    gather(str(tmp_path / "here"), [str(tmp_path / "one")])
    copied = tmp_path / "here" / "a" / "audit.json"
    assert copied.stat().st_mtime_ns == (path / "audit.json").stat().st_mtime_ns


def test_last_runs_are_joined(tmp_path):
    for name, at, hosts in (("one", "2026-12-01T10:00:00Z", {"a": "ok", "b": "failed"}),
                            ("two", "2026-12-01T10:00:01Z", {"b": "ok", "c": "findings"})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "last-run.json").write_text(json.dumps(
            {"schema": "gpuhost.last-run/1", "run": name, "at": at, "hosts": hosts}))
    (tmp_path / "here").mkdir()
    gather(str(tmp_path / "here"), [str(tmp_path / "two"), str(tmp_path / "one")])
    assert read(tmp_path / "here" / "last-run.json")["hosts"] == {"a": "ok", "b": "ok", "c": "findings"}


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(RecordError, match=r"gpuhost_gather: .*/nothing is no folder"):
        gather(str(tmp_path), [str(tmp_path / "nothing")])
