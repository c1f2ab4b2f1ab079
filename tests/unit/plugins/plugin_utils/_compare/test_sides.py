# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._compare.sides import file_name, sides
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import RecordError

RUN = "20261129T183000Z-4f2a"


def put(path, host, at="2026-11-29T18:30:00Z", **changes):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schema": "gpuhost.audit/2", "host": host, "collected_at": at, "profile": "inference",
                                "facts": {}, "findings": []} | changes))
    return str(path)


@pytest.fixture
def reports(tmp_path):
    put(tmp_path / "reports" / "pve1" / "audit.json", "pve1", "2026-12-01T06:00:00Z")
    put(tmp_path / "reports" / "pve1" / RUN / "after.json", "pve1")
    put(tmp_path / "reports" / "pve2" / "audit.json", "pve2")
    return str(tmp_path / "reports")


def test_hosts_by_their_names(reports):
    assert [side.name for side in sides(reports, ["pve2", "pve1"])] == ["pve2", "pve1"]


def test_one_host_then_and_now(reports):
    found = sides(reports, [f"pve1/{RUN}", "pve1"])
    assert [side.name for side in found] == ["pve1@2026-11-29T18:30:00Z", "pve1@2026-12-01T06:00:00Z"]
    assert found[0].path.name == "after.json"


def test_files_and_folders_of_elsewhere(reports, tmp_path):
    kept = put(tmp_path / "kept" / "audit.json", "pve9")
    assert [side.name for side in sides(reports, [kept, "pve1"])] == ["pve9", "pve1"]
    assert [side.name for side in sides(reports, [str(tmp_path / "kept"), "pve1"])] == ["pve9", "pve1"]


@pytest.mark.parametrize("given, message", [
    (["pve1"], "wanted is a list of two"),
    (["pve1", "pve1"], "name two audits"),
    (["pve1", "pve7"], r"'pve7' is neither an audited host below .* \(pve1, pve2\) nor a file"),
    (["pve1", "pve2/20261129T183000Z-ffff"], "has left no audit"),
])
def test_what_cannot_be_compared(reports, given, message):
    with pytest.raises(RecordError, match=message):
        sides(reports, given)


@pytest.mark.parametrize("changes, message", [
    ({"schema": "gpuhost.values/1"}, "is no audit: its schema is 'gpuhost.values/1'"),
])
def test_a_file_that_is_no_audit(reports, tmp_path, changes, message):
    with pytest.raises(RecordError, match=message):
        sides(reports, ["pve1", put(tmp_path / "other.json", "pve3", **changes)])


def test_an_audit_that_is_cut(reports, tmp_path):
    path = tmp_path / "cut.json"
    path.write_text('{"schema": "gpuhost.audit/2", "host": "pve3"}')
    with pytest.raises(RecordError, match="it has no collected_at, facts, findings, profile"):
        sides(reports, ["pve1", str(path)])


def test_names_of_files():
    assert file_name("pve1", "pve2") == "compare-pve1-pve2"
    assert file_name("a/../b", "pve1@2026-11-29T18:30:00Z") == "compare-a_.._b-pve1@2026-11-29T18_30_00Z"
