# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of simulated benchmarks whose effect and noise are known. docs/evidence.md has the tables."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.blocks import complete_blocks
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.effect import effect, stand_together

from simulated import WORLDS, acted_on, experiment, false_claims, gaussian, results, runs

BLOCKS = 12


@pytest.mark.parametrize("name", WORLDS)
def test_where_nothing_differs_little_is_claimed(name):
    # 5 percent of 200 are 10, and chance alone makes more than 18 of them once in two hundred times.
    assert false_claims(WORLDS[name], 200, BLOCKS) <= 18


@pytest.mark.soak
@pytest.mark.parametrize("blocks", [8, 9, 10, BLOCKS])
@pytest.mark.parametrize("name", WORLDS)
def test_where_nothing_differs_less_than_one_in_twenty_is_claimed(name, blocks):
    assert false_claims(WORLDS[name], 2000, blocks) < 100


@pytest.mark.parametrize("name", WORLDS)
def test_a_real_effect_lies_in_its_interval(name):
    found = [one for one in results(WORLDS[name], 200, BLOCKS, percent=10) if one["low"] is not None]
    assert len(found) >= 190
    assert sum(one["low"] <= 10 <= one["high"] for one in found) >= 0.9 * len(found)
    assert all(one["verdict"] != "hurts" for one in found)


# What a drift or a warm cache adds is in both kinds of blocks and drops out: as many are found as without it.
# A step within a block costs that block.
@pytest.mark.parametrize("name, least", [("plain", 196), ("drift", 196), ("warm_cache", 196), ("autocorrelated", 196),
                                         ("step", 150)])
def test_ten_percent_are_seen_through_three_percent_of_noise(name, least):
    assert sum(one["verdict"] == "helps" for one in results(WORLDS[name], 200, BLOCKS, percent=10)) >= least


def test_a_loss_is_seen_as_surely_as_a_gain():
    assert sum(one["verdict"] == "hurts" for one in results(WORLDS["plain"], 200, BLOCKS, percent=-10)) >= 196


def test_that_nothing_differs_is_seen_where_the_noise_is_small():
    quiet = WORLDS["plain"]._replace(noise=gaussian(0.01))
    verdicts = [one["verdict"] for one in results(quiet, 200, BLOCKS)]
    assert verdicts.count("no measurable effect") >= 180


def test_so_many_runs_as_were_said_to_be_missing_decide_more_often_than_not():
    decided, asked = 0, 0
    for seed, first in enumerate(results(WORLDS["plain"], 60, 8, percent=3)):
        if first["verdict"] != "inconclusive":
            continue
        asked += 1
        again = runs(WORLDS["plain"], f"again {seed}", 8 + first["more_blocks"], percent=3)
        decided += effect(complete_blocks(again, "one", "speed"), "higher")["verdict"] != "inconclusive"
    assert asked >= 20
    assert decided / asked > 0.5


def test_of_many_arms_without_an_effect_hardly_one_experiment_has_a_difference_that_stands():
    wrong = 0
    for number in range(100):
        arms = [effect(complete_blocks(runs(WORLDS["plain"], f"{number}/{arm}", BLOCKS), "one", "speed"), "higher")
                for arm in range(8)]
        wrong += any(stand_together([arm["chance"] for arm in arms]))
    # 5 of 100 are expected at most, and more than 12 come by chance once in a thousand times.
    assert wrong <= 12


# 5 percent of 300 are 15, with a standard error of 3.8: three of them leave room up to 26.
@pytest.mark.parametrize("name", ["plain", "heavy_tails"])
def test_where_nothing_differs_hardly_one_experiment_keeps_writes_off_or_ends_with_anything(name):
    assert sum(any(acted_on(experiment(WORLDS[name], seed, BLOCKS)).values()) for seed in range(300)) <= 26


def test_a_change_that_helps_is_found_among_those_that_do_not():
    found = [acted_on(experiment(WORLDS["plain"], seed, BLOCKS, percent=10)) for seed in range(100)]
    assert sum(one["kept"] == one["end"] == {"change0"} for one in found) >= 90
    assert not any("change0" in one["written_off"] for one in found)


@pytest.mark.soak
@pytest.mark.parametrize("name", WORLDS)
def test_where_nothing_differs_at_most_one_in_twenty_experiments_calls_a_difference(name):
    # 2000 experiments: 100, and three standard errors of 9.7. What is said to make no difference is right here.
    verdicts = [{found["verdict"] for arm in experiment(WORLDS[name], seed, BLOCKS)["arms"]
                 for found in arm["metrics"].values()} for seed in range(2000)]
    assert sum(bool(one & {"helps", "hurts"}) for one in verdicts) <= 129
