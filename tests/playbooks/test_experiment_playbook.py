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

# Prints a rate that depends on the planted swappiness alone, with a noise that depends on the number of the run alone.
# What else it does is up to the second argument.
BENCHMARK = r"""
import json, os, pathlib, random, signal, sys, time

root, misdeed = pathlib.Path(sys.argv[1]), sys.argv[2]
counter = root.with_suffix(".count")
number = int(counter.read_text()) + 1 if counter.exists() else 1
counter.write_text(str(number))
swappiness = root / "proc/sys/vm/swappiness"
rate = 100 + random.Random(number).gauss(0, 0.4) + (10 if swappiness.read_text().strip() == "10" else 0)
if number >= 3:
    if misdeed in ("hang", "slow"):
        time.sleep(60)
    elif misdeed == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif misdeed == "babble":
        print("Traceback: out of memory")
        sys.exit(0)
    elif misdeed == "meddle":
        swappiness.write_text("35\n")
    elif misdeed == "reboot":
        (root / "proc/sys/kernel/random/boot_id").write_text("6f9c1d52-0000-4000-8000-000000000001\n")
found = {"other": 1} if misdeed == "rename" and number >= 3 else {"rate": 0 if misdeed == "zero" else rate}
print(json.dumps(found))
"""
SWAPPINESS, LAPTOP = "sysctl:vm.swappiness", "sysctl:vm.laptop_mode"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "benchmark.py"
    path.write_text(BENCHMARK)
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
       "gpuhost_experiment_changes": [SWAPPINESS, LAPTOP], "gpuhost_experiment_mode": "one_at_a_time",
       "gpuhost_experiment_blocks": 8, "gpuhost_experiment_seed": 7}


def test_a_known_effect_is_found_and_a_placebo_is_not(controller, plant, benchmark):
    tree = plant("pve1")
    given = {**TRY, "gpuhost_benchmark": benchmark(tree), "gpuhost_experiment_end": "best"}

    # --check says what it would cost, and runs nothing.
    promised = controller.play("experiment.yml", {"pve1": tree}, "--check", variables=given).succeeded()
    assert "32 runs and 1 to warm up, at most 34.6 minutes, the time limit being 60 s a run; 8 GPUs" in promised.output
    assert "16 blocks of 2 runs by seed 7: " in promised.output
    assert (sysctl(tree, "vm.swappiness"), tree.root.with_suffix(".count").exists()) == ("60", False)
    assert not (controller.reports / "pve1" / "experiment.json").exists()

    run = controller.play("experiment.yml", {"pve1": tree}, variables=given, timeout=600).succeeded()
    found = record(controller)
    verdicts = {arm["toggles"][0]: arm["metrics"]["rate"] for arm in found["arms"]}
    assert verdicts[SWAPPINESS]["verdict"] == "helps"
    assert 9 < verdicts[SWAPPINESS]["percent"] < 11     # 10 of 100, with a noise of 0.4
    assert verdicts[LAPTOP]["verdict"] == "no measurable effect"
    assert (found["ended"], found["discarded"], len(found["runs"])) == ("finished", 0, 33)
    assert f"swappiness{'':13}rate  helps: +" in run.output
    states = {(one["arm"], one["block"], one["state"]) for one in found["runs"]}
    assert len(states) == 33     # 2 arms, 8 blocks, 2 states, and one to warm up

    # Only what helps was kept, and the way back is that of any change.
    assert (sysctl(tree, "vm.swappiness"), sysctl(tree, "vm.laptop_mode")) == ("10", "0")
    assert found["state"] == {SWAPPINESS: "10", LAPTOP: "0"}
    assert found["end_state"] == "best"
    assert run.changed("pve1") == 1

    # What is left for others: raw output, the verdict for the audit, and the overrides.
    folder = controller.reports / "pve1" / found["run_id"]
    assert json.loads((folder / "raw" / "033.stdout").read_text())["rate"] == found["runs"][-1]["values"]["rate"]
    (entry,) = record(controller, name="measured.json")["findings"]
    assert (entry["check"], entry["kind"], entry["verdict"]) == ("swappiness", "experiment", "helps")
    assert entry["said"].startswith("made up: rate: helps: +")
    assert yaml.safe_load((folder / "overrides.yml").read_text()) == {"gpuhost_overrides": {}}
    assert "sysctl:vm.laptop_mode" in (controller.reports / "pve1" / "system-improve.md").read_text()

    controller.play("restore.yml", {"pve1": tree}).succeeded()
    assert sysctl(tree, "vm.swappiness") == "60"


# What the third run does, and what is said then.
MISDEEDS = {
    "hang": "it was still running after 2 s",
    "die": "killed by SIGKILL",
    "babble": "metric rate: wanted a number by json 'rate' in stdout, found no JSON",
    "rename": "metric rate: wanted a number by json 'rate' in stdout, found nothing (null)",
    "zero": "metric rate is 0, and only of positive numbers can be said by how many percent they differ",
    "meddle": "it is left alone: sysctl:vm.swappiness: we left ",
    "reboot": "the host was ",
}


def test_one_clear_error_and_the_host_as_it_was(controller, plant, benchmark):
    trees = {misdeed: plant(misdeed) for misdeed in MISDEEDS}
    hosts = {misdeed: {"gpuhost_sysroot": str(tree.root), "gpuhost_benchmark": benchmark(tree, misdeed, timeout=2)}
             for misdeed, tree in trees.items()}
    run = controller.play("experiment.yml", hosts, timeout=600, variables={
        **TRY, "gpuhost_experiment_mode": "plan", "gpuhost_experiment_end": "after"}).failed()
    for misdeed, said in MISDEEDS.items():
        (failed,) = [one for one in run.of(misdeed) if one.outcome == "failed"]
        assert said in failed.result["msg"], failed.result["msg"]
        assert record(controller, misdeed)["ended"].startswith("failed: "), misdeed
        assert record(controller, misdeed)["end_state"] == "before", misdeed
        assert run.stats[misdeed]["failures"] == 1
        # What somebody else changed is somebody else's.
        assert sysctl(trees[misdeed], "vm.swappiness") == ("35" if misdeed == "meddle" else "60"), misdeed
        assert sysctl(trees[misdeed], "vm.laptop_mode") == "0", misdeed
    assert "every setting is back at what it was" in run.of("hang", action="experiment")[0].result["msg"]


def test_what_is_refused_before_anything_is_touched(controller, plant, benchmark):
    refused = {
        "refused": ({"gpuhost_values": {"sysctl": {"vm.swappiness": "900"}},
                     "gpuhost_experiment_changes": [SWAPPINESS]}, "wanted 900, found 60: EINVAL (Invalid argument)"),
        "budget": ({"gpuhost_experiment_budget_minutes": 10}, "budget_minutes allows 10. Take fewer changes"),
        "nothing": ({"gpuhost_experiment_changes": ["thp"]}, "names thp, which is not planned on this host"),
        "unfair": ({"gpuhost_values": {"sysctl": {"vm.laptop_mode": "5"}}, "gpuhost_experiment_changes": [LAPTOP]},
                   "cannot be compared fairly: it takes effect with workload_restart"),
        "many": ({"gpuhost_profile": "full", "gpuhost_experiment_changes": []}, "one by one at most 8 can be compared"),
        "none": ({"gpuhost_benchmark": {}}, "gpuhost_benchmark is not given"),
    }
    trees = {name: plant(name) for name in refused}
    hosts = {name: {"gpuhost_sysroot": str(trees[name].root),
                    "gpuhost_benchmark": benchmark(trees[name], starts_workload=name != "unfair"),
                    **TRY, **given} for name, (given, _said) in refused.items()}
    run = controller.play("experiment.yml", hosts).failed()
    for name, (_given, said) in refused.items():
        (failed,) = [one for one in run.of(name) if one.outcome == "failed"]
        assert said in failed.result["msg"], failed.result["msg"]
        assert sysctl(trees[name], "vm.swappiness") == "60"
        assert not trees[name].path("/run/gpuhost").exists()
        assert not trees[name].root.with_suffix(".count").exists()


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


@pytest.mark.parametrize(("end", "said", "status"), [
    (lambda told: os.killpg(told.main.pid, signal.SIGINT), "interrupted by SIGINT", 99),
    (lambda told: told.main.terminate(), "interrupted by SIGTERM", -signal.SIGTERM),
    (lambda told: told.main.kill(), "interrupted: ansible-playbook was killed", -signal.SIGKILL),
], ids=["ctrl-c", "sigterm", "killed"])
def test_an_end_in_the_middle_brings_everything_back(controller, plant, benchmark, end, said, status):
    tree = plant("pve1")
    told = Interrupted(controller, tree, {**HANGING, "gpuhost_benchmark": benchmark(tree, "slow")})
    end(told)
    assert told.main.wait(60) == status
    if status == 99:    # ansible-playbook waits for the way back
        assert sysctl(tree, "vm.swappiness") == "60"
    told.wait_for(lambda: record(controller)["ended"] is not None)
    found = record(controller)
    assert (found["ended"], found["end_state"]) == (said, "before")
    assert found["state"] == {SWAPPINESS: "60"}
    assert sysctl(tree, "vm.swappiness") == "60"


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
    said = f"experiment {run_id} of "
    again = controller.play("experiment.yml", {"pve1": tree}, variables=variables).failed()
    (failed,) = [one for one in again.of("pve1") if one.outcome == "failed"]
    assert said in failed.result["msg"]
    assert f"restore.yml -e gpuhost_run_id={run_id}" in failed.result["msg"]
    tune = controller.play("tune_runtime.yml", {"pve1": tree}, "--check").succeeded()
    assert f"pve1: {said}" in " ".join(tune.stderr.split())
    controller.play("restore.yml", {"pve1": tree}, variables={"gpuhost_run_id": run_id}).succeeded()
    assert sysctl(tree, "vm.swappiness") == "60"
    tune = controller.play("tune_runtime.yml", {"pve1": tree}, "--check").succeeded()
    assert said not in " ".join(tune.stderr.split())
