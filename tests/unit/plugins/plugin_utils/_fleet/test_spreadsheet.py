# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import csv
import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.spreadsheet import merge_tables, write_tables

from audit_document import document, finding


def rows(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def audit(host="pve1", **changes):
    found = finding("swappiness", "fail", actual="60", recommended="10", reason="swaps, early")
    other = finding("pcie_maxreadreq", "pass", subject="0000:01:00.0", actual=4096)
    return document([found | changes, other], host=host)


def test_a_row_for_each_finding(tmp_path):
    write_tables(tmp_path, audit())
    first, second = rows(tmp_path / "findings.csv")
    assert (first["host"], first["check"], first["subject"], first["verdict"]) == ("pve1", "swappiness", "", "fail")
    assert (first["actual"], first["recommended"], first["planned"]) == ("60", "10", "no")
    assert first["said"] == "swaps, early"
    assert (second["subject"], second["actual"]) == ("0000:01:00.0", "4096")


def test_a_row_for_each_fact(tmp_path):
    write_tables(tmp_path, audit())
    known = {(row["fact"], row["of"]): (row["status"], row["value"]) for row in rows(tmp_path / "facts.csv")}
    assert known["kernel.release", ""] == ("ok", "6.8.12-9-pve")
    assert known["gpus[].pcie.link.width", "0000:41:00.0"] == ("ok", "16")
    assert known["memory.total_kib", ""] == ("ok", "527765504")


def test_what_was_not_read_has_a_status_and_no_value(tmp_path):
    read = audit()
    read["facts"]["kernel"]["release"] = {"status": "denied", "value": None}
    write_tables(tmp_path, read)
    known = {row["fact"]: (row["status"], row["value"]) for row in rows(tmp_path / "facts.csv")}
    assert known["kernel.release"] == ("denied", "")


@pytest.mark.parametrize("actual, shown", [
    ("=HYPERLINK(\"http://evil\")", "'=HYPERLINK(\"http://evil\")"), ("+avx2", "'+avx2"), ("@x", "'@x"), ("-1", "-1"),
    ("-x", "'-x"), ("a\r\nb", "a\\x0d b"), ("-", "-"), (-1.5, "-1.5"),
])
def test_no_cell_is_a_formula(tmp_path, actual, shown):
    write_tables(tmp_path, audit(actual=actual))
    assert rows(tmp_path / "findings.csv")[0]["actual"] == shown


def test_all_hosts_one_after_the_other_without_one_that_is_broken(tmp_path):
    for host in ("pve1", "pve2", "broken"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "audit.json").write_text(json.dumps(audit(host)))
    (tmp_path / "broken" / "audit.json").write_text('{"host": "broken", "findings": [{}]}')
    merge_tables(tmp_path, ["broken", "pve1", "pve2"])
    assert [row["host"] for row in rows(tmp_path / "findings.csv")] == ["pve1", "pve1", "pve2", "pve2"]
    assert {row["host"] for row in rows(tmp_path / "facts.csv")} == {"pve1", "pve2"}
