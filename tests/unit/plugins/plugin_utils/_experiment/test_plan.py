# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is compared with what, in which order, and what it costs."""
from __future__ import annotations

from collections import Counter

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.budget import (
    describe_budget,
    make_budget,
    require_within,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.plan import count_restarts, make_arms, schedule
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.toggles import Toggle


def toggle(name, takes_effect="at_once"):
    return Toggle(name, ({"address": f"sysctl:{name}", "check": name, "subject": None, "takes_effect": takes_effect,
                          "wanted": "1"},))


ONE, TWO, THREE = toggle("one"), toggle("two", "new_allocations"), toggle("three")


@pytest.mark.parametrize(("mode", "arms"), [
    ("plan", [("plan", set(), {"one", "two", "three"})]),
    ("one_at_a_time", [("one", set(), {"one"}), ("two", set(), {"two"}), ("three", set(), {"three"})]),
    ("leave_one_out", [("one", {"two", "three"}, {"one", "two", "three"}),
                       ("two", {"one", "three"}, {"one", "two", "three"}),
                       ("three", {"one", "two"}, {"one", "two", "three"})]),
])
def test_modes(mode, arms):
    assert [(arm.name, set(arm.on("A")), set(arm.on("B"))) for arm in make_arms(mode, [ONE, TWO, THREE])] == arms


def test_every_block_is_a_pair_and_every_round_has_every_arm():
    arms = make_arms("one_at_a_time", [ONE, TWO, THREE])
    slots = schedule(arms, 10, 7)
    assert Counter((slot.arm, slot.block, slot.state) for slot in slots) == {
        (arm, block, state): 1 for arm in ("one", "two", "three") for block in range(1, 11) for state in "AB"}
    for first, second in zip(slots[::2], slots[1::2]):
        assert (first.arm, first.block) == (second.arm, second.block)
    for block in range(10):
        assert {slot.block for slot in slots[6 * block:6 * block + 6]} == {block + 1}


def test_each_arm_runs_a_first_in_half_of_its_blocks():
    slots = schedule(make_arms("one_at_a_time", [ONE, TWO]), 10, 99)
    heads = Counter((slot.arm, slot.state) for slot in slots[::2])
    assert heads == {("one", "A"): 5, ("one", "B"): 5, ("two", "A"): 5, ("two", "B"): 5}


def test_the_seed_decides():
    arms = make_arms("one_at_a_time", [ONE, TWO, THREE])
    assert schedule(arms, 12, 1) == schedule(arms, 12, 1)
    assert schedule(arms, 12, 1) != schedule(arms, 12, 2)
    rounds = {tuple(slot.arm for slot in schedule(arms, 12, seed)[:6:2]) for seed in range(30)}
    assert len(rounds) > 1


def test_restarts_are_those_of_slow_toggles():
    arms = make_arms("one_at_a_time", [ONE, TWO])
    slots = schedule(arms, 1, 3)
    assert count_restarts(slots, arms, frozenset()) == 0
    # Once for the first run, then where `two` comes or goes; its block is one of two, AB or BA.
    states = ["two" in {arm.name: arm for arm in arms}[slot.arm].on(slot.state) for slot in slots]
    assert count_restarts(slots, arms, frozenset(("two",))) == 1 + sum(
        one != other for one, other in zip(states, states[1:]))


def test_a_budget_of_a_known_benchmark():
    budget = make_budget(96, 1, 600, 27.0, 0, 8)
    # 97 runs of 27 and 3 seconds; of 600 and 3.
    assert (budget["minutes"], budget["minutes_at_most"]) == (48.5, 974.9)
    assert describe_budget(budget) == ("96 runs and 1 for warm-up, about 48.5 minutes (an earlier run took 27.0 s), at "
                                       "most 974.9; 8 GPUs that nothing else may use meanwhile")
    require_within(budget, 48.5)
    require_within(budget, None)
    with pytest.raises(ValueError, match=r"not started: 96 runs .*allows 48. Take fewer changes"):
        require_within(budget, 48)


def test_a_budget_of_an_unknown_benchmark_goes_by_its_time_limit():
    budget = make_budget(16, 0, 57, None, 30, 0)
    assert (budget["minutes"], budget["minutes_at_most"]) == (None, 24)
    assert describe_budget(budget) == "16 runs, at most 24 minutes, with a timeout of 57 s per run; no GPU"
    require_within(budget, 24)
    with pytest.raises(ValueError, match=r"allows 20. Take .*or one run of playbooks/benchmark.yml"):
        require_within(budget, 20)
