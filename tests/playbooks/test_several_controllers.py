# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slices of a fleet: four ansible-playbook at once, each with a home of its own, leave what one leaves."""
from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import platform
import re

import pytest

from ansible_run import Controller
from hosts.others import virtual_machine
from hosts.tree import Tree

HOSTS = ("h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8")
SETTINGS = {"gpuhost_only": ["thp_enabled", "kernel_release"]}


@pytest.fixture
def fleet(tmp_path):
    return {name: virtual_machine(Tree(tmp_path / "hosts" / name)) for name in HOSTS}


def audit(folder, hosts, reports):
    folder.mkdir()
    return Controller(folder).play("audit.yml", hosts, variables={**SETTINGS, "gpuhost_report_dir": str(reports)})


def audit_in_slices(tmp_path, fleet, reports):
    """As AWX cuts them: every fourth host. `reports` gives the folder of a slice by its number."""
    slices = [{name: fleet[name] for name in HOSTS[number::4]} for number in range(4)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(audit, tmp_path / f"slice{number}", hosts, reports(number))
                for number, hosts in enumerate(slices)]
    return [run.result().succeeded() for run in runs]


def left(reports):
    """What lies in the folder, and the parts of it that do not tell when it was made or by which run."""
    names = sorted(path.relative_to(reports).as_posix() for path in reports.rglob("*") if path.is_file()
                   and ".last-runs/" not in path.as_posix())
    lines = [json.loads(line) for line in (reports / "findings.jsonl").read_text().splitlines()]
    findings = [{key: value for key, value in line.items() if key not in ("run_id", "collected_at")} for line in lines]
    time = re.compile(r"\d{4}-\d\d-\d\dT[0-9:]+Z")
    return {"names": names, "findings": findings, "fleet": time.sub("then", (reports / "fleet.md").read_text()),
            "last run": json.loads((reports / "last-run.json").read_text())["hosts"]}


@pytest.mark.one_core
def test_slices_leave_what_one_run_leaves(tmp_path, fleet):
    audit(tmp_path / "whole", fleet, tmp_path / "one").succeeded()
    audit_in_slices(tmp_path, fleet, lambda _number: tmp_path / "shared")
    whole = left(tmp_path / "one")
    assert sorted(whole["last run"]) == sorted(HOSTS)
    assert left(tmp_path / "shared") == whole


@pytest.mark.soak
def test_slices_without_a_shared_folder_are_gathered(tmp_path, fleet, controller):
    audit_in_slices(tmp_path, fleet, lambda number: tmp_path / f"reports{number}")
    folders = [str(tmp_path / f"reports{number}") for number in range(4)]
    run = controller.play("fleet_report.yml", {}, variables={"gpuhost_gather": folders}).succeeded()
    gathered = left(controller.reports)
    assert sorted(run.one("localhost", action="fleet_report")["gathered"]) == sorted(HOSTS)
    assert sorted(gathered["last run"]) == sorted(HOSTS)
    assert {line["host"] for line in gathered["findings"]} == set(HOSTS)
    assert gathered["fleet"].startswith("# 8 GPU hosts")


@pytest.mark.one_core
def test_a_second_rollout_stops_before_it_changes_anything(controller, fleet):
    """The first one is that of this process, which lives, as its record in the shared folder says."""
    born = int(pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    record = controller.reports / ".rollouts" / "20261201T100000Z-0001" / "rollout.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({
        "schema": "gpuhost.rollout/1", "run_id": "20261201T100000Z-0001", "started_at": "2026-12-01T10:00:00Z",
        "check": False, "hosts": ["x1", "x2"], "batches": [], "looked": {}, "stopped": None, "ended_at": None,
        "told_at": None, "process": {"node": platform.node(), "id": os.getpid(), "born": born}}))
    hosts = {name: fleet[name] for name in ("h1", "h2")}
    wanted = {"gpuhost_only": ["kernel_release"], "gpuhost_values": {"sysctl": {"vm.swappiness": 1}}}
    run = controller.play("tune_runtime.yml", hosts, variables=wanted).failed()
    assert "the rollout 20261201T100000Z-0001 over 2 hosts is under way" in run.output
    assert "slice count is 1" in run.output
    assert fleet["h1"].path("/proc/sys/vm/swappiness").read_text().strip() != "1"
