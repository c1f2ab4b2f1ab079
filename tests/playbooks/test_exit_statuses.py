# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The exit statuses that docs/pipelines.md promises.

Those of tune_runtime, verify and restore are in test_tune.py, that of a rollout is in test_rollout_playbook.py, and
status 3 of tools/audit.sh in tests/unit/tools.
"""
from __future__ import annotations

import csv
import json

import pytest

from checkout import REPOSITORY
from hosts.others import virtual_machine

LOST = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}


@pytest.fixture
def guest(make_tree):
    return virtual_machine(make_tree("guest"))


def test_findings_end_with_0_without_a_limit_and_are_there_as_tables(controller, guest):
    assert controller.play("audit.yml", {"guest": guest}, variables={"gpuhost_csv": True}).returncode == 0
    for folder in (controller.reports, controller.reports / "guest"):
        with (folder / "findings.csv").open(newline="") as stream:
            assert {row["host"] for row in csv.DictReader(stream)} == {"guest"}
        with (folder / "facts.csv").open(newline="") as stream:
            assert any(row["fact"] == "kernel.release" for row in csv.DictReader(stream))


def test_a_limit_that_is_exceeded_ends_with_2(controller, guest):
    variables = {"gpuhost_fail_on": "P2", "gpuhost_only": ["thp_enabled"],
                 "gpuhost_overrides": {"thp_enabled": {"value": ["never"]}}}
    assert controller.play("audit.yml", {"guest": guest}, variables=variables).returncode == 2
    assert json.loads((controller.reports / "last-run.json").read_text())["hosts"] == {"guest": "findings"}


def test_a_host_that_is_not_reached_ends_with_4_whatever_others_do(controller, tmp_path):
    hosts = {"failing": str(tmp_path / "no_such_folder"), "lost": LOST}
    assert controller.play("audit.yml", hosts).returncode == 4


@pytest.mark.parametrize("status, words", [
    (4, ("-i", "/dev/null", "audit.yml")), (1, ("-i", "one,", "-l", "two", "audit.yml")),
    (1, ("-i", "one,", "no_such_playbook.yml")), (2, ("--no-such-option", "audit.yml"))])
def test_nothing_is_run(controller, status, words):
    *options, playbook = words
    done = controller.ansible("playbook", *options, str(REPOSITORY / "playbooks" / playbook))
    assert done.returncode == status, done.stdout + done.stderr
