# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import RecordError
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.measured import add_measured, read_measured

FIRST = ("20261129T183000Z-4f2a", "2026-11-29T18:31:00Z", "boot-1")
SECOND = ("20261130T080000Z-0001", "2026-11-30T08:01:00Z", None)
GPU = "0000:41:00.0"


def entry(check, subject, verdict, message="x"):
    return {"check": check, "subject": subject, "verdict": verdict, "said": message}


def shape(found):
    return [(one["kind"], one["check"], one["subject"], one["verdict"], one["run_id"]) for one in found]


def test_nothing_was_measured(tmp_path):
    assert read_measured(tmp_path) == []


def test_the_file_is_the_documented_one(tmp_path):
    add_measured(tmp_path, "bandwidth", *FIRST, [entry("pcie_link_width", GPU, "slow", "13 of 55 GB/s")])
    assert json.loads((tmp_path / "measured.json").read_text()) == {"schema": "gpuhost.measured/1", "findings": [{
        "check": "pcie_link_width", "subject": GPU, "kind": "bandwidth", "verdict": "slow", "said": "13 of 55 GB/s",
        "run_id": "20261129T183000Z-4f2a", "measured_at": "2026-11-29T18:31:00Z", "boot_id": "boot-1"}]}


def test_a_newer_one_replaces_only_the_same_kind_check_and_subject(tmp_path):
    add_measured(tmp_path, "bandwidth", *FIRST, [entry("pcie_link_width", GPU, "slow"),
                                                 entry("pcie_link_width", "0000:42:00.0", "healthy"),
                                                 entry("iommu_p2p", None, "healthy")])
    add_measured(tmp_path, "experiment", *FIRST, [entry("pcie_link_width", GPU, "helps")])
    add_measured(tmp_path, "bandwidth", *SECOND, [entry("pcie_link_width", GPU, "healthy"),
                                                  entry("iommu_p2p", None, "wrong_data")])
    assert shape(read_measured(tmp_path)) == [
        ("bandwidth", "pcie_link_width", "0000:42:00.0", "healthy", FIRST[0]),
        ("experiment", "pcie_link_width", GPU, "helps", FIRST[0]),
        ("bandwidth", "pcie_link_width", GPU, "healthy", SECOND[0]),
        ("bandwidth", "iommu_p2p", None, "wrong_data", SECOND[0])]
    assert [one["boot_id"] for one in read_measured(tmp_path)] == ["boot-1", "boot-1", None, None]


def test_another_kind_is_a_mistake_of_ours(tmp_path):
    with pytest.raises(ValueError, match="bandwidth or experiment"):
        add_measured(tmp_path, "guess", *FIRST, [])
    assert not (tmp_path / "measured.json").exists()


WHOLE = {**entry("a", None, "slow"), "kind": "bandwidth", "run_id": FIRST[0], "measured_at": FIRST[1], "boot_id": None}


@pytest.mark.parametrize("text, message", [
    ("{", "is not JSON"), ("[]", "has the schema 'list', wanted 'gpuhost.measured/1'"),
    ('{"schema": "gpuhost.audit/1", "findings": []}', "has the schema 'gpuhost.audit/1'"),
    ('{"schema": "gpuhost.measured/1"}', "has no list of findings"),
    ('{"schema": "gpuhost.measured/1", "findings": [7]}', "finding 1 of .* is not a mapping but int"),
    *((json.dumps({"schema": "gpuhost.measured/1", "findings": [WHOLE, {**WHOLE, **wrong}]}), message)
      for wrong, message in [
        ({"said": None}, "finding 2 of .* has said None, wanted a text"),
        ({"subject": 7}, "has subject 7, wanted a text"),
        ({"kind": "guess"}, "has kind 'guess', wanted bandwidth or experiment")]),
    (json.dumps({"schema": "gpuhost.measured/1", "findings": [{key: WHOLE[key] for key in WHOLE if key != "boot_id"}]}),
     "has boot_id None, wanted a text")])
def test_a_file_that_is_not_one_is_named(tmp_path, text, message):
    (tmp_path / "measured.json").write_text(text)
    with pytest.raises(RecordError, match=message):
        read_measured(tmp_path)
    with pytest.raises(RecordError, match=message):
        add_measured(tmp_path, "bandwidth", *FIRST, [entry("a", None, "slow")])
    assert (tmp_path / "measured.json").read_text() == text
