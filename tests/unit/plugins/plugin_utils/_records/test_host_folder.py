# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import json
import os

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records import host_folder


def test_run_id_has_the_documented_form():
    made = host_folder.new_run_id(datetime.datetime(2026, 11, 29, 18, 30, tzinfo=datetime.timezone.utc))
    assert made.startswith("20261129T183000Z-")
    assert host_folder.check_run_id(made) == made


@pytest.mark.parametrize("text", [
    "", "latest", "../20261129T183000Z-4f2a", "20261129T183000Z-4f2a/..", "20261129T183000Z-XYZ1"])
def test_other_run_ids_are_refused(text):
    with pytest.raises(host_folder.RecordError, match="20261129T183000Z-4f2a"):
        host_folder.check_run_id(text)


@pytest.mark.parametrize("host", ["", ".", "..", "a/b", "../../etc", "/etc"])
def test_a_host_is_one_folder_below_the_reports(tmp_path, host):
    with pytest.raises(host_folder.RecordError, match="rename the host"):
        host_folder.HostFolder(str(tmp_path), host)


def test_a_relative_folder_starts_where_the_command_did(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert host_folder.HostFolder("reports", "pve1").path == tmp_path / "reports" / "pve1"


def test_runs_are_listed_from_the_oldest(tmp_path):
    folder = host_folder.HostFolder(str(tmp_path), "pve1")
    assert folder.runs() == []
    for name in ("20261129T183000Z-4f2a", "20250101T000000Z-0000", "notes"):
        (folder.path / name).mkdir(parents=True)
    assert folder.runs() == ["20250101T000000Z-0000", "20261129T183000Z-4f2a"]


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "pve1" / "audit.json"
    host_folder.write_json(path, {"a": 1})
    host_folder.write_json(path, {"a": "ä"})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": "ä"}
    assert os.listdir(path.parent) == ["audit.json"]


def test_a_folder_that_takes_no_file_is_named(tmp_path):
    (tmp_path / "reports").write_text("a file")
    with pytest.raises(host_folder.RecordError, match="gpuhost_report_dir"):
        host_folder.write_text(tmp_path / "reports" / "pve1" / "audit.json", "{}")


def test_a_broken_record_is_named(tmp_path):
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(host_folder.RecordError, match=r"plan\.json is not JSON"):
        host_folder.read_json(tmp_path / "plan.json")


def test_an_audit_has_a_line_for_each_section_and_finding(tmp_path):
    document = {"schema": "x", "boot_id": None, "facts": {"cpu": {"logical": 2}, "gpus": []},
                "findings": [{"check": "ä", "actual": [1, 2]}], "none": []}
    host_folder.write_audit(tmp_path / "audit.json", document)
    text = (tmp_path / "audit.json").read_text(encoding="utf-8")
    assert json.loads(text) == document
    assert text == """{
 "schema": "x",
 "boot_id": null,
 "facts": {
  "cpu": {"logical":2},
  "gpus": []},
 "findings": [
  {"check":"ä","actual":[1,2]}],
 "none": []
}
"""
