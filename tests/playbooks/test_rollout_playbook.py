# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tune_runtime.yml over several hosts: batch after batch, and where it stops. tests/fleet does it over ssh."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

from checkout import REPOSITORY
from hosts.others import virtual_machine
from hosts.proxmox import plant_cluster, plant_proxmox

HOSTS = ("h1", "h2", "h3", "h4", "h5")
CLOSED = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
SETTINGS = {"gpuhost_only": ["kernel_release"], "gpuhost_values": {"sysctl": {"vm.laptop_mode": "1"}},
            "gpuhost_serial": [1, 2], "gpuhost_soak_seconds": 0}


@pytest.fixture
def fleet(make_tree):
    return {name: virtual_machine(make_tree(name)).sysctl("vm.laptop_mode", 0) for name in HOSTS}


def set_on(fleet):
    return {name: tree.path("/proc/sys/vm/laptop_mode").read_text().strip() == "1" for name, tree in fleet.items()
            if not isinstance(tree, dict)}


def record(controller):
    """The newest rollout: its document, and the state of every host that has one."""
    folder = sorted((controller.reports / ".rollouts").iterdir())[-1]
    hosts = {path.stem: json.loads(path.read_text()) for path in (folder / "hosts").iterdir()}
    return json.loads((folder / "rollout.json").read_text()), {name: host["state"] for name, host in hosts.items()}


@pytest.mark.one_core
def test_batch_after_batch_with_one_run_id_and_once_more_for_nothing(controller, fleet):
    run = controller.play("tune_runtime.yml", fleet, variables=SETTINGS).succeeded()
    rollout, states = record(controller)
    assert [batch["hosts"] for batch in rollout["batches"]] == [["h1"], ["h2", "h3"], ["h4", "h5"]]
    assert states == dict.fromkeys(fleet, "changed")
    assert all(set_on(fleet).values())
    assert {path.name for host in fleet for path in (controller.reports / host).iterdir() if path.is_dir()} == {
        rollout["run_id"]}
    looked = {host: [one["item"] for one in run.one(host, task="Recheck the hosts so far").get("results", [])]
              for host in HOSTS}
    # The newest batch first, shared among its hosts. After the last batch nothing is to come.
    assert looked == {"h1": ["h1"], "h2": ["h2", "h1"], "h3": ["h3"], "h4": [], "h5": []}
    assert run.stdout.rstrip().endswith("h5    3      changed  1 change\n5 changed")

    again = controller.play("tune_runtime.yml", fleet, variables=SETTINGS).succeeded()
    assert sum(again.changed(host) for host in fleet) == 0
    assert record(controller)[1] == dict.fromkeys(fleet, "unchanged")


def test_it_stops_at_the_gate_and_goes_on_when_the_hosts_are_mended(controller, fleet):
    plant_cluster(plant_proxmox(fleet["h2"]), quorate=False)
    run = controller.play("tune_runtime.yml", {**fleet, "h3": CLOSED}, variables={
        **SETTINGS, "gpuhost_serial": [1, 3], "gpuhost_max_failed": 1})
    assert run.returncode == 4      # as Ansible has it where a host is unreachable
    message = run.one("h4", task="Pass the gate")["msg"]
    assert message.splitlines()[0] == (
        "The rollout stops after batch 2: 2 hosts failed, gpuhost_max_failed allows 1; 1 host not touched.")
    assert "h2: refused: the cluster has no quorum" in message
    assert "h3: unreachable" in message
    assert set_on(fleet) == {"h1": True, "h2": False, "h3": False, "h4": True, "h5": False}
    assert record(controller)[1] == {"h1": "changed", "h2": "refused", "h3": "unreachable", "h4": "changed"}
    # What ssh says of a closed port takes one line or several.
    lines = run.stdout[run.stdout.index("Rollout "):].splitlines()
    table = [line.split()[:3] for line in lines if line.startswith(("h1 ", "h2 ", "h3 ", "h4 ", "h5 "))][:5]
    assert table == [["h1", "1", "changed"], ["h2", "2", "refused"], ["h3", "2", "unreachable"], ["h4", "2", "changed"],
                     ["h5", "-", "waiting"]]
    page = (controller.reports / "fleet.md").read_text()
    assert "stopped after batch 2" in page
    assert "| h3 | 2 | unreachable |" in page
    assert "| h5 | - | waiting |" in page

    plant_cluster(fleet["h2"])
    controller.play("tune_runtime.yml", fleet, variables=SETTINGS).succeeded()
    assert all(set_on(fleet).values())
    assert record(controller)[1] == {"h1": "unchanged", "h2": "changed", "h3": "changed", "h4": "unchanged",
                                     "h5": "changed"}


@pytest.mark.one_core
def test_what_happens_while_a_batch_soaks_stops_it(controller, fleet):
    def set_back():
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            states = list(controller.reports.glob(".rollouts/*/hosts/h1.json"))
            if states and '"state": "changed"' in states[0].read_text():
                fleet["h1"].sysctl("vm.laptop_mode", 0)
                return
            time.sleep(0.02)

    hand = threading.Thread(target=set_back)
    hand.start()
    run = controller.play("tune_runtime.yml", fleet, variables={**SETTINGS, "gpuhost_soak_seconds": 3}).failed()
    hand.join()
    message = run.one("h1", task="Pass the gate")["msg"]
    assert "h1: drifted: sysctl:vm.laptop_mode: was set to 1, and is 0 now" in message
    assert record(controller)[1] == {"h1": "drifted"}
    assert not any(set_on(fleet).values())


def test_the_table_of_a_rollout_that_was_terminated_comes_with_the_page(controller, fleet):
    """Terminated while it soaks after h1. Its table is there to be had, once, and not while it still runs."""
    variables = {**SETTINGS, "gpuhost_soak_seconds": 300, "gpuhost_become": False,
                 "gpuhost_report_dir": str(controller.reports)}
    running = subprocess.Popen(
        [sys.executable, "-m", "ansible", "playbook", str(REPOSITORY / "playbooks" / "tune_runtime.yml"), "-i",
         str(controller.inventory(fleet)), "-e", json.dumps(variables)], env=controller.environment(),
        cwd=controller.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not list(controller.reports.glob(".rollouts/*/hosts/h1.json")) or record(controller)[1] != {
                "h1": "changed"}:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        meanwhile = controller.play("fleet_report.yml", {}).succeeded()
        assert f"Rollout {record(controller)[0]['run_id']} is in progress" in meanwhile.stdout
    finally:
        soaking = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        running.terminate()
        running.wait()
        for worker in soaking:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(worker), signal.SIGKILL)

    told = controller.play("fleet_report.yml", {}).succeeded()
    lines = [line.split() for line in told.stdout[told.stdout.index("Rollout "):].splitlines()[:8]]
    assert lines[0][2:] == ["ended", "in", "batch", "1,", "before", "its", "gate"]
    waiting = [[f"h{number}", "-", "waiting"] for number in (2, 3, 4, 5)]
    assert [line[:3] for line in lines[2:7]] == [["h1", "1", "changed"], *waiting]
    assert lines[7] == ["4", "waiting,", "1", "changed"]
    assert "ended in batch 1, before its gate" in (controller.reports / "fleet.md").read_text()
    assert "Rollout " not in controller.play("fleet_report.yml", {}).succeeded().stdout
