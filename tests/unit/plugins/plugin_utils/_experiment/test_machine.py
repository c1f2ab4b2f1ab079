# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of an experiment, brought about by the real setters on a planted host."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.machine import Machine
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.settings import (
    ConcurrentChange,
    ExperimentError,
)

from hosts.cpu import CPUFREQ, plant_frequency
from hosts.memory import THP, plant_thp
from hosts.tree import Tree
from planted_setters import RUN_ID, PlantedSetters, toggle

SWAPPINESS = toggle("swappiness", {"sysctl:vm.swappiness": "10"})
NOTHING, ONLY = frozenset(), frozenset(("swappiness",))


@pytest.fixture
def tree(tmp_path):
    planted = Tree(tmp_path / "host").sysctl("vm.swappiness", 60).sysctl("vm.laptop_mode", 0)
    planted.sysctl("kernel.random.boot_id", "0b54b1f2-6c5a-4b52-9d3c-1a6f0c9e7d21")
    return planted.sysctl("vm.dirty_ratio", 0).sysctl("vm.dirty_bytes", 1 << 20).sysctl("vm.min_free_kbytes", 67584)


@pytest.fixture
def ask(tree):
    return PlantedSetters(tree)


@pytest.fixture
def machine(ask):
    return Machine(ask, RUN_ID, False)


def sysctl(tree, key):
    return tree.path("/proc/sys/" + key.replace(".", "/")).read_text().strip()


def journal(tree):
    path = tree.path("/run/gpuhost/journal.jsonl")
    return path.read_text().splitlines() if path.exists() else []


def test_there_and_back_and_nothing_written_twice(tree, machine):
    settings = machine.learn([SWAPPINESS])
    assert sysctl(tree, "vm.swappiness") == "60"
    assert journal(tree) == []
    assert machine.bring_about(settings, ONLY) == []
    assert sysctl(tree, "vm.swappiness") == "10"
    assert machine.bring_about(settings, ONLY) == []
    assert len(journal(tree)) == 2
    assert machine.bring_about(settings, NOTHING) == []
    assert sysctl(tree, "vm.swappiness") == "60"
    assert len(journal(tree)) == 4
    assert machine.left_behind(RUN_ID) == {}
    assert [change["outcome"] for change in settings.outcomes()] == ["reverted"]


def test_a_look_and_a_change_are_one_call_of_a_setter(tree, ask, machine):
    settings = machine.learn([SWAPPINESS])
    ask.calls.clear()
    machine.bring_about(settings, ONLY)
    machine.bring_about(settings, ONLY)
    assert ask.calls == [("sysctl_snapshot", False)] * 2


def test_a_number_that_is_at_least_something(tree, machine):
    tree.sysctl("net.core.rmem_max", 212992)
    settings = machine.learn([toggle("buffers", {"sysctl:net.core.rmem_max": {"at_least": 16777216}})])
    machine.bring_about(settings, frozenset(("buffers",)))
    assert sysctl(tree, "net.core.rmem_max") == "16777216"
    machine.bring_about(settings, NOTHING)
    assert sysctl(tree, "net.core.rmem_max") == "212992"


def test_both_faces_of_a_pair_come_back(tree, machine):
    dirty = toggle("dirty", {"sysctl:vm.dirty_ratio": "10"})
    settings = machine.learn([dirty])
    machine.bring_about(settings, frozenset(("dirty",)))
    assert sysctl(tree, "vm.dirty_ratio") == "10"
    tree.sysctl("vm.dirty_bytes", 0)        # what a kernel does along, and a folder does not
    settings.all["sysctl:vm.dirty_bytes"].seen = "0"
    machine.bring_about(settings, NOTHING)
    assert (sysctl(tree, "vm.dirty_ratio"), sysctl(tree, "vm.dirty_bytes")) == ("0", "1048576")
    assert settings.all["sysctl:vm.dirty_bytes"].companion


def test_toggles_are_independent_of_each_other(tree, machine):
    laptop = toggle("laptop", {"sysctl:vm.laptop_mode": "5"})
    settings = machine.learn([SWAPPINESS, laptop])
    machine.bring_about(settings, ONLY)
    machine.bring_about(settings, frozenset(("laptop",)))
    assert (sysctl(tree, "vm.swappiness"), sysctl(tree, "vm.laptop_mode")) == ("60", "5")


def test_kinds_are_set_in_order_and_taken_back_in_reverse(tree, ask, machine):
    plant_thp(tree)
    settings = machine.learn([SWAPPINESS, toggle("thp", {f"sysfs:{THP}/enabled": "always"})])
    assert settings.inexact == ["sysctl:vm.min_free_kbytes"]
    assert machine.read(settings.inexact) == {"sysctl:vm.min_free_kbytes": "67584"}
    ask.calls.clear()
    machine.bring_about(settings, frozenset(("swappiness", "thp")))
    machine.bring_about(settings, NOTHING)
    assert [name for name, _check in ask.calls] == [
        "sysctl_snapshot", "sysfs_attribute", "sysfs_attribute", "sysctl_snapshot"]


def test_a_pattern_stands_for_its_files(tree, machine):
    plant_frequency(tree, range(2))
    governors = f"sysfs:{CPUFREQ}/policy*/scaling_governor"
    settings = machine.learn([toggle("governor", {governors: "performance"})])
    machine.bring_about(settings, frozenset(("governor",)))
    assert [tree.path(f"{CPUFREQ}/policy{cpu}/scaling_governor").read_text().strip() for cpu in (0, 1)] == [
        "performance", "performance"]
    machine.bring_about(settings, NOTHING)
    assert tree.path(f"{CPUFREQ}/policy1/scaling_governor").read_text().strip() == "schedutil"


def test_a_third_value_is_somebody_elses_and_stays(tree, machine):
    settings = machine.learn([SWAPPINESS])
    machine.bring_about(settings, ONLY)
    tree.sysctl("vm.swappiness", 35)
    with pytest.raises(ConcurrentChange, match=r"left alone: sysctl:vm.swappiness: set to 10, found 35"):
        machine.bring_about(settings, NOTHING)
    left = machine.way_back(settings)
    assert [(change["address"], change["outcome"]) for change in left] == [("sysctl:vm.swappiness", "refused")]
    assert sysctl(tree, "vm.swappiness") == "35"


def test_a_value_that_came_back_by_itself_is_seen(tree, machine):
    settings = machine.learn([SWAPPINESS])
    machine.bring_about(settings, ONLY)
    tree.sysctl("vm.swappiness", 60)
    assert machine.bring_about(settings, NOTHING) == ["sysctl:vm.swappiness"]


def test_a_value_that_is_the_next_one_already_is_seen(tree, machine):
    settings = machine.learn([SWAPPINESS])
    tree.sysctl("vm.swappiness", 10)
    assert machine.bring_about(settings, ONLY) == ["sysctl:vm.swappiness"]


def test_the_way_back_is_that_of_the_journal(tree, machine):
    settings = machine.learn([SWAPPINESS])
    machine.bring_about(settings, ONLY)
    assert machine.way_back(settings) == []
    assert sysctl(tree, "vm.swappiness") == "60"
    assert settings.all["sysctl:vm.swappiness"].seen == "60"


def test_what_an_earlier_run_set_is_told(tree, ask, machine):
    Machine(ask, "20261128T000000Z-0000", False).bring_about(
        Machine(ask, "20261128T000000Z-0000", False).learn([SWAPPINESS]), ONLY)
    assert machine.left_by_others(["sysctl:vm.swappiness", "sysctl:vm.laptop_mode"]) == {
        "sysctl:vm.swappiness": ["20261128T000000Z-0000"]}


@pytest.mark.parametrize(("values", "message"), [
    ({"sysctl:vm.swappiness": "900"}, r"sysctl:vm.swappiness: refused: wanted 900, found 60: EINVAL.*the kernel takes "
                                      r"0 to 200\nLeave it out with gpuhost_skip"),
    ({"sysctl:vm.made_up": "1"}, "sysctl:vm.made_up: refused"),
    ({"sysctl:vm.swappiness": "60"}, "try would change nothing: sysctl:vm.swappiness already has the wanted value"),
])
def test_what_cannot_be_compared_is_said_before_anything_is_written(tree, machine, values, message):
    with pytest.raises(ExperimentError, match=message):
        machine.learn([toggle("try", values)])
    assert journal(tree) == []


def test_a_module_that_fails_is_named():
    machine = Machine(lambda *_asked: {"failed": True, "msg": "no python3"}, RUN_ID, False)
    with pytest.raises(ExperimentError, match=r"gpuhost.tuning.journal_info: no python3"):
        machine.left_behind(RUN_ID)
