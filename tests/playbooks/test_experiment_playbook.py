# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An experiment as a user runs it, on planted hosts: what it finds, what it refuses, how it ends whatever happens."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import yaml

from checkout import REPOSITORY
from hosts.story_before import story_before
from made_up_benchmark import PROGRAM

SWAPPINESS, LAPTOP = "sysctl:vm.swappiness", "sysctl:vm.laptop_mode"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "benchmark.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def benchmark(program):
    """The benchmark of a tree, as a user gives it."""
    return lambda tree, misdeed="none", **more: {
        "name": "made up", "where": "controller", "starts_workload": True, "warm_up": 1, "timeout": 60,
        "command": [sys.executable, str(program), str(tree.root), misdeed],
        "metrics": {"rate": {"json": "rate", "better": "higher", "unit": "tok/s"}}, **more}


@pytest.fixture
def plant(make_tree):
    return lambda name: story_before(make_tree(name), cores=1).sysctl("vm.laptop_mode", 0)


def sysctl(tree, key):
    return tree.path("/proc/sys/" + key.replace(".", "/")).read_text().strip()


def record(controller, host="pve1", name="experiment.json"):
    return json.loads((controller.reports / host / name).read_text())


TRY = {"gpuhost_values": {"sysctl": {"vm.swappiness": "10", "vm.laptop_mode": "5"}},
       "gpuhost_experiment_changes": [SWAPPINESS, LAPTOP], "gpuhost_experiment_seed": 7}


def test_a_known_effect_is_found_and_kept(controller, plant, benchmark):
    tree = plant("pve1")
    given = {**TRY, "gpuhost_experiment_changes": [SWAPPINESS], "gpuhost_experiment_blocks": 8,
             "gpuhost_benchmark": benchmark(tree), "gpuhost_experiment_end": "best"}

    # --check says what it would cost, and runs nothing.
    promised = controller.play("experiment.yml", {"pve1": tree}, "--check", variables=given).succeeded()
    assert "16 runs and 1 for warm-up, at most 17.9 minutes, with a timeout of 60 s per run; 8 GPUs" in promised.output
    assert "8 blocks of 2 runs by seed 7: plan " in promised.output
    assert (sysctl(tree, "vm.swappiness"), tree.root.with_suffix(".count").exists()) == ("60", False)
    assert not (controller.reports / "pve1" / "experiment.json").exists()

    run = controller.play("experiment.yml", {"pve1": tree}, variables=given, timeout=900).succeeded()
    found = record(controller)
    verdict = found["arms"][0]["metrics"]["rate"]
    assert verdict["verdict"] == "helps"
    assert 9 < verdict["percent"] < 11      # 10 of 100, with a noise of 0.4
    assert (found["ended"], found["discarded"], len(found["runs"])) == ("finished", 0, 17)
    assert "  plan  rate  helps: +" in run.output
    assert "pve1: run 17: plan block 8 " in run.output
    assert found["runs"][0]["conditions"]["before"]["boot_id"] == found["boot_id"]

    # It was kept, and the way back is that of any change.
    assert (sysctl(tree, "vm.swappiness"), found["end_state"], run.changed("pve1")) == ("10", "best", 1)
    (entry,) = record(controller, name="measured.json")["findings"]
    assert (entry["check"], entry["kind"], entry["verdict"]) == ("swappiness", "experiment", "helps")
    folder = controller.reports / "pve1" / found["run_id"]
    assert yaml.safe_load((folder / "overrides.yml").read_text()) == {"gpuhost_overrides": {}}
    report = (controller.reports / "pve1" / "system-improve.md").read_text()
    assert "Which changes help: made up" in report
    controller.play("restore.yml", {"pve1": tree}).succeeded()
    assert sysctl(tree, "vm.swappiness") == "60"


@pytest.mark.one_core
def test_hosts_that_fail_and_hosts_that_refuse(controller, plant, benchmark):
    told = {     # per host: what its benchmark does, what else it is given, what is said
        "hang": ("hang", {}, "did not end within 2 s"),
        "meddle": ("meddle", {}, "is left alone: sysctl:vm.swappiness: set to "),
        "refused": ("none", {"gpuhost_values": {"sysctl": {"vm.swappiness": "900"}},
                             "gpuhost_experiment_changes": [SWAPPINESS]}, "wanted 900, found 60: EINVAL"),
        "many": ("none", {"gpuhost_profile": "full", "gpuhost_experiment_mode": "one_at_a_time",
                          "gpuhost_experiment_changes": []}, "at most 8 can be compared individually"),
    }
    trees = {name: plant(name) for name in told}
    hosts = {name: {**TRY, "gpuhost_sysroot": str(trees[name].root), **given,
                    "gpuhost_benchmark": benchmark(trees[name], misdeed, timeout=2)}
             for name, (misdeed, given, _said) in told.items()}
    run = controller.play("experiment.yml", hosts, timeout=600, variables={"gpuhost_experiment_end": "after"}).failed()
    for name, (_misdeed, _given, message) in told.items():
        (failed,) = [one for one in run.of(name) if one.outcome == "failed"]
        assert message in failed.result["msg"], failed.result["msg"]
        begun = name in ("hang", "meddle")
        assert trees[name].path("/run/gpuhost").exists() == begun
        assert (controller.reports / name / "experiment.json").exists() == begun
        # What somebody else changed is somebody else's.
        assert sysctl(trees[name], "vm.swappiness") == ("35" if name == "meddle" else "60")
        assert sysctl(trees[name], "vm.laptop_mode") == "0"
        assert (controller.reports / name / "system-improve.md").exists()
    assert "all settings are restored" in run.of("hang", action="experiment")[0].result["msg"]


class Interrupted:
    """An experiment that was begun, and is in the middle of a run in state B."""

    def __init__(self, controller, tree, variables):
        self.tree = tree
        given = {"gpuhost_become": False, "gpuhost_report_dir": str(controller.reports), **variables}
        self.main = subprocess.Popen(
            [sys.executable, "-m", "ansible", "playbook", str(REPOSITORY / "playbooks" / "experiment.yml"), "-i",
             str(controller.inventory({"pve1": tree})), "-e", json.dumps(given)], env=controller.environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.wait_for(lambda: self.count() >= 3 and sysctl(tree, "vm.swappiness") == "10")

    def count(self):
        path = self.tree.root.with_suffix(".count")
        return int(path.read_text() or 0) if path.exists() else 0

    def wait_for(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it did not come about"
            time.sleep(0.05)

    def children(self):
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.main.pid)], capture_output=True, text=True,
                               check=False)
        return [int(pid) for pid in found.stdout.split()]


# Blocks by this seed begin with B, so that the first run behind the one to warm up and the second are A and B.
HANGING = {"gpuhost_values": {"sysctl": {"vm.swappiness": "10"}}, "gpuhost_experiment_changes": [SWAPPINESS],
           "gpuhost_experiment_seed": 1}


@pytest.mark.parametrize(("end", "message", "status"), [
    (lambda told: os.killpg(told.main.pid, signal.SIGINT), "interrupted by SIGINT", 99),
    (lambda told: told.main.terminate(), "interrupted by SIGTERM", -signal.SIGTERM),
    pytest.param(lambda told: told.main.kill(), "interrupted: ansible-playbook was killed", -signal.SIGKILL,
                 marks=pytest.mark.one_core),
], ids=["ctrl-c", "sigterm", "killed"])
def test_an_end_in_the_middle_brings_everything_back(controller, plant, benchmark, end, message, status):
    tree = plant("pve1")
    told = Interrupted(controller, tree, {**HANGING, "gpuhost_benchmark": benchmark(tree, "slow")})
    end(told)
    assert told.main.wait(60) == status
    if status == 99:    # ansible-playbook waits for the way back
        assert sysctl(tree, "vm.swappiness") == "60"
    told.wait_for(lambda: record(controller)["ended"] is not None)
    found = record(controller)
    # Its worker may see that ansible-playbook is gone before it is told by a signal itself.
    assert found["ended"] in (message, "interrupted: ansible-playbook was killed")
    assert found["end_state"] == "before"
    assert found["state"] == {SWAPPINESS: "60"}
    assert sysctl(tree, "vm.swappiness") == "60"


@pytest.mark.one_core
def test_a_killed_worker_is_noticed_and_restored(controller, plant, benchmark):
    tree = plant("pve1")
    variables = {**HANGING, "gpuhost_benchmark": benchmark(tree, "slow")}
    told = Interrupted(controller, tree, variables)
    run_id = record(controller)["run_id"]
    for pid in [*told.children(), told.main.pid]:
        os.kill(pid, signal.SIGKILL)
    told.main.wait(60)
    time.sleep(2)
    assert (sysctl(tree, "vm.swappiness"), record(controller)["ended"]) == ("10", None)

    # The next experiment is refused, the next tune says it, and restore brings it back.
    message = f"experiment {run_id} of "
    again = controller.play("experiment.yml", {"pve1": tree}, variables=variables).failed()
    (failed,) = [one for one in again.of("pve1") if one.outcome == "failed"]
    assert message in failed.result["msg"]
    assert f"restore.yml -e gpuhost_run_id={run_id}" in failed.result["msg"]
    tune = controller.play("tune_runtime.yml", {"pve1": tree}, "--check").succeeded()
    assert f"pve1: {message}" in " ".join(tune.stderr.split())
    controller.play("restore.yml", {"pve1": tree}, variables={"gpuhost_run_id": run_id}).succeeded()
    assert sysctl(tree, "vm.swappiness") == "60"
    tune = controller.play("tune_runtime.yml", {"pve1": tree}, "--check").succeeded()
    assert message not in " ".join(tune.stderr.split())
