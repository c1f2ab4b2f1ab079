# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import multiprocessing
import os

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._audit import outputs
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.files import write_fleet
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records import host_folder

from audit_document import document, finding

RUN = "20261129T183000Z-4f2a"


def audit(folder, name, actual="60"):
    host = host_folder.HostFolder(str(folder), name)
    made = document([finding("swappiness", "fail", actual=actual), finding("boost", "pass")], host=name)
    host_folder.write_audit(host.path / "audit.json", made)
    outputs.write_for_machines(host, made, RUN, "audit")
    return host.path


def lines(folder):
    return [json.loads(line) for line in (folder / "findings.jsonl").read_text().splitlines()]


def test_the_files_of_the_fleet(tmp_path):
    audit(tmp_path, "pve1")
    audit(tmp_path, "pve2")
    answer = write_fleet(str(tmp_path))
    assert answer == {"hosts": 2, "page": str(tmp_path / "index.html"), "msg": f"2 hosts in {tmp_path / 'index.html'}"}
    assert (tmp_path / "index.html").read_text().count("pve2") >= 1
    assert (tmp_path / "fleet.md").read_text().startswith("# 2 GPU hosts")
    assert [(line["host"], line["check"]) for line in lines(tmp_path)] == [
        ("pve1", "swappiness"), ("pve1", "boost"), ("pve2", "swappiness"), ("pve2", "boost")]
    assert set(os.listdir(tmp_path)) == {"index.html", "fleet.md", "findings.jsonl", ".fleet.lock", "pve1", "pve2"}
    assert set(os.listdir(tmp_path / "pve1")) == {"audit.json", "junit.xml", "gpuhost.prom", "findings.jsonl",
                                                  "history.json", "fleet.json"}


def test_a_host_that_is_audited_again_has_its_lines_once(tmp_path):
    audit(tmp_path, "pve1")
    write_fleet(str(tmp_path))
    audit(tmp_path, "pve1", actual="35")
    write_fleet(str(tmp_path))
    assert [line["actual"] for line in lines(tmp_path)] == ["35", None]


def test_a_record_without_its_lines_is_in_them_all_the_same(tmp_path):
    (audit(tmp_path, "pve1") / "findings.jsonl").unlink()
    write_fleet(str(tmp_path))
    assert [(line["check"], line["run_id"]) for line in lines(tmp_path)] == [("swappiness", None), ("boost", None)]


def play(folder, player, barrier):
    """One of several plays at once: each audits hosts of its own, then makes the page."""
    barrier.wait()
    for number in range(5):
        audit(folder, f"pve{player}{number}")
        write_fleet(str(folder))


def test_plays_that_end_at_the_same_time_lose_no_line(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(4)
    players = [context.Process(target=play, args=(tmp_path, player, barrier)) for player in range(4)]
    for player in players:
        player.start()
    for player in players:
        player.join(60)
    assert [player.exitcode for player in players] == [0, 0, 0, 0]
    assert {line["host"] for line in lines(tmp_path)} == {f"pve{player}{number}" for player in range(4)
                                                          for number in range(5)}
    assert len(lines(tmp_path)) == 40
    assert "# 20 GPU hosts" in (tmp_path / "fleet.md").read_text()


def test_a_folder_that_takes_no_file_is_named(tmp_path):
    (tmp_path / "reports").write_text("a file")
    with pytest.raises(host_folder.RecordError, match="reports"):
        write_fleet(str(tmp_path / "reports"))


@pytest.mark.parametrize("name", ["index.html", "fleet.md", "findings.jsonl"])
def test_no_host_can_be_called_like_a_file_of_the_fleet(tmp_path, name):
    with pytest.raises(host_folder.RecordError, match="rename the host"):
        host_folder.HostFolder(str(tmp_path), name)
