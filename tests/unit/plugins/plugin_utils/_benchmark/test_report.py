# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark in a terminal and in the reports."""
from __future__ import annotations

import copy
import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._benchmark.report import number, read, section, terminal
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report import evidence

DOCUMENT = {
    "schema": "gpuhost.benchmark/1", "host": "pve1", "run_id": "20261130T010203Z-00ff", "boot_id": "b1",
    "measured_at": "2026-11-30T01:02:03Z", "name": "small | model", "argv": ["bench", "--json"], "where": "lxc:101",
    "metrics": [{"name": "speed", "better": "higher", "unit": "tok/s"},
                {"name": "ttft", "better": "lower", "unit": ""}],
    "runs": [
        {"number": 1, "warm_up": True, "discarded": None}, {"number": 2, "warm_up": False, "discarded": None},
        {"number": 3, "warm_up": False, "discarded": "the load was 3 before it"},
        {"number": 4, "warm_up": False, "discarded": None}],
    "summary": {"speed": {"median": 1234.56, "low": 1200.0, "high": 1301.5, "runs": 2},
                "ttft": {"median": 0.0123456, "low": 0.01, "high": 0.02, "runs": 2}},
    "stopped": None,
}


def without_result(stopped):
    document = copy.deepcopy(DOCUMENT)
    document["runs"] = [{"number": 1, "warm_up": True, "discarded": stopped}]
    return document | {"summary": {}, "stopped": stopped, "measured_at": None}


def test_a_section_of_the_reports():
    made = section(DOCUMENT)
    assert made.heading == "Your own benchmark: small | model"
    assert made.notes == ["Run 20261130T010203Z-00ff of 2026-11-30T01:02:03Z, in lxc:101: bench --json",
                          "run 3 does not count: the load was 3 before it"]
    (table,) = made.tables
    assert table.rows == [["speed", "1234.6", "1200 to 1301.5", "tok/s", "higher", "2"],
                          ["ttft", "0.012346", "0.01 to 0.02", "-", "lower", "2"]]
    assert made.drawings == {}


def test_one_that_did_not_come_to_its_end():
    made = section(without_result("run 1 of 'small': timeout"))
    assert made.notes[0].startswith("Run 20261130T010203Z-00ff of an unknown time, in lxc:101: ")
    assert made.notes[1:] == ["It did not finish: run 1 of 'small': timeout"]
    assert made.tables == []


def test_what_a_program_says_does_not_move_the_cursor():
    made = section(without_result("sh: \x1b[2Jboo\nand more"))
    assert made.notes[1] == r"It did not finish: sh: \x1b[2Jboo and more"


def test_a_short_table_in_a_terminal():
    assert terminal(DOCUMENT, "reports/pve1/x/benchmark.json").splitlines() == [
        "pve1: small | model, 3 runs and 1 for warm-up",
        "  metric  median    range           unit   better  runs",
        "  speed   1234.6    1200 to 1301.5  tok/s  higher  2",
        "  ttft    0.012346  0.01 to 0.02    -      lower   2",
        "  run 3 does not count: the load was 3 before it",
        "record: reports/pve1/x/benchmark.json"]


@pytest.mark.parametrize(("value", "text"), [(1234567.8, "1234568"), (99999.4, "99999"), (0.5, "0.5"), (0, "0"),
                                             (-12.345678, "-12.346"), (123456, "123456")])
def test_numbers(value, text):
    assert number(value) == text


def test_the_newest_of_a_host_is_in_its_reports(tmp_path):
    assert read(tmp_path, {}) is None
    (tmp_path / "benchmark.json").write_text(json.dumps(DOCUMENT))
    assert "| speed | 1234.6 | 1200 to 1301.5 | tok/s | higher | 2 |" in evidence.markdown(
        evidence.sections(tmp_path, {}))
    (tmp_path / "benchmark.json").write_text(json.dumps({**DOCUMENT, "schema": "gpuhost.benchmark/9"}))
    (made,) = evidence.sections(tmp_path, {})
    assert "has the schema 'gpuhost.benchmark/9', wanted 'gpuhost.benchmark/1': measure again" in made.notes[0]
