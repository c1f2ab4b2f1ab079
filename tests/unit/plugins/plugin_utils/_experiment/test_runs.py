# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs of an experiment in their order, on a planted host with the real setters and a made-up benchmark."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.machine import Machine
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.plan import Slot, make_arms
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.runs import Bench, Experiment
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.settings import (
    ConcurrentChange,
    ExperimentError,
)

from hosts.tree import Tree
from planted_setters import RUN_ID, PlantedSetters, toggle

SLOTS = [Slot("plan", 1, "B"), Slot("plan", 1, "A"), Slot("plan", 2, "A"), Slot("plan", 2, "B")]


class RunFailed(ValueError):
    def __init__(self, message, run):
        super().__init__(message)
        self.run = run


class Story:
    """An experiment whose benchmark reads the planted swappiness. `events` are run by the number of the run."""

    def __init__(self, folder, takes_effect="at_once", restart=False, warm_up=0, deadline=None):
        self.tree = Tree(folder / "host").sysctl("vm.swappiness", 60).sysctl("kernel.random.boot_id", "boot-1")
        self.events, self.log, self.users = {}, [], {}
        self.toggle = toggle("swappiness", {"sysctl:vm.swappiness": "10"}, takes_effect)
        machine = Machine(PlantedSetters(self.tree), RUN_ID, False)
        bench = Bench(self.measure, self.restart if restart else None, warm_up, False)
        self.experiment = Experiment(machine, machine.learn([self.toggle]), make_arms("plan", [self.toggle]), bench,
                                     lambda run: None, lambda: self.log.append("pause"), deadline)

    def measure(self, number, warm_up):
        self.log.append(f"{'warm ' if warm_up else ''}{self.swappiness}")
        run = {"number": number, "warm_up": warm_up, "values": {"speed": float(self.swappiness)}, "discarded": None,
               "conditions": {"before": {"boot_id": "boot", "users": self.users.get(number, [])}}}
        self.events.get(number, lambda run: None)(run)
        return run

    def restart(self, number):
        self.log.append("restart")

    @property
    def swappiness(self):
        return self.tree.path("/proc/sys/vm/swappiness").read_text().strip()

    def runs(self):
        return [(run["block"], run["state"], run["discarded"]) for run in self.experiment.runs]


@pytest.fixture
def story(tmp_path):
    return lambda **options: Story(tmp_path, **options)


def test_every_run_sees_the_state_of_its_slot(story):
    told = story()
    assert told.experiment.run(SLOTS) is None
    assert told.log == ["10", "60", "60", "10"]
    assert told.runs() == [(1, "B", None), (1, "A", None), (2, "A", None), (2, "B", None)]


def test_runs_to_warm_up_belong_to_no_block(story):
    told = story(warm_up=2)
    told.experiment.run(SLOTS[:2])
    assert told.log == ["warm 60", "warm 60", "10", "60"]
    assert [(run["arm"], run["block"], run["warm_up"]) for run in told.experiment.runs] == [
        (None, 0, True), (None, 0, True), ("plan", 1, False), ("plan", 1, False)]


def test_a_workload_is_restarted_and_warmed_up_where_the_state_changes(story):
    told = story(takes_effect="workload_restart", restart=True, warm_up=1)
    told.experiment.run(SLOTS)
    assert told.log == ["restart", "warm 10", "10", "restart", "warm 60", "60", "60", "restart", "warm 10", "10"]


def test_what_takes_effect_at_once_restarts_nothing(story):
    told = story(restart=True, warm_up=1)
    told.experiment.run(SLOTS)
    assert told.log == ["warm 60", "10", "60", "60", "10"]


def test_the_block_of_a_run_outside_the_limits_is_run_again(story):
    told = story()
    told.events[2] = lambda run: run.update(discarded="too hot")
    assert told.experiment.run(SLOTS) is None
    assert told.log == ["10", "60", "pause", "10", "60", "60", "10"]
    assert told.runs() == [(1, "B", "its block was repeated"), (1, "A", "too hot"), (1, "B", None), (1, "A", None),
                           (2, "A", None), (2, "B", None)]


def test_a_run_in_which_somebody_changed_the_value_to_the_other_one_does_not_count(story):
    told = story()
    told.events[2] = lambda run: told.tree.sysctl("vm.swappiness", 10)
    assert told.experiment.run(SLOTS) is None
    reason = "sysctl:vm.swappiness was changed by something else during the run"
    assert told.runs() == [(1, "B", "its block was repeated"), (1, "A", reason), (1, "B", None), (1, "A", None),
                           (2, "A", None), (2, "B", None)]


def test_the_last_run_is_looked_behind_too(story):
    told = story()
    told.events[4] = lambda run: told.tree.sysctl("vm.swappiness", 60)
    assert told.experiment.run(SLOTS) is None
    assert told.runs()[2:] == [(2, "A", "its block was repeated"),
                               (2, "B", "sysctl:vm.swappiness was changed by something else during the run"),
                               (2, "A", None), (2, "B", None)]


def test_a_third_value_ends_it_and_the_run_before_does_not_count(story):
    told = story()
    told.events[3] = lambda run: told.tree.sysctl("vm.swappiness", 35)
    with pytest.raises(ConcurrentChange, match="set to 60, found 35"):
        told.experiment.run(SLOTS)
    assert [discarded is None for _block, _state, discarded in told.runs()] == [True, True, False]
    assert told.swappiness == "35"


def test_a_newcomer_on_a_gpu_discards_the_run(story):
    told = story()
    told.users[3] = [{"pid": 9, "command": "python3", "container": None}]
    told.experiment.run(SLOTS)
    assert told.runs()[2] == (2, "A", "since the first run python3 started to use a GPU")
    assert told.runs()[3:] == [(2, "A", None), (2, "B", None)]


def test_it_gives_up_where_too_little_counts(story):
    told = story()
    told.events.update({number: lambda run: run.update(discarded="too hot") for number in range(1, 9)})
    with pytest.raises(ExperimentError, match="4 runs do not count, at most 3 may; the last one: too hot"):
        told.experiment.run(SLOTS)


def test_a_failed_run_ends_it_and_is_kept(story):
    def fail(run):
        raise RunFailed("it hung", {**run, "discarded": "it hung"})

    told = story()
    told.events[2] = fail
    with pytest.raises(RunFailed):
        told.experiment.run(SLOTS)
    assert told.runs() == [(1, "B", None), (1, "A", "it hung")]


def test_another_boot_ends_it(story):
    told = story()
    told.events[3] = lambda run: run["conditions"]["before"].update(boot_id="another")
    with pytest.raises(ExperimentError, match=r"rebooted .boot boot, now another"):
        told.experiment.run(SLOTS)
    assert told.runs()[2] == (2, "A", "the host was rebooted")


def test_a_figure_that_is_zero_ends_it(story):
    told = story()
    told.events[1] = lambda run: run["values"].update(speed=0.0)
    with pytest.raises(ExperimentError, match="run 1: metric speed is 0, and only positive values"):
        told.experiment.run(SLOTS)


def test_no_block_is_begun_when_the_time_is_up(story):
    told = story(deadline=0.0)
    assert told.experiment.run(SLOTS) == "stopped: the time budget is used up, with 4 runs not made"
    assert told.log == []
    late = story()
    late.events[1] = lambda run: setattr(late.experiment, "deadline", 0.0)
    assert late.experiment.run(SLOTS) == "stopped: the time budget is used up, with 2 runs not made"
    assert late.runs() == [(1, "B", None), (1, "A", None)]
