# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math
import random

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._effect import (
    HELPS,
    HURTS,
    INCONCLUSIVE,
    NOTHING,
    critical_rank,
    effect,
    fewest_blocks,
    interval,
)


# Table A.4 of Hollander and Wolfe: upper tail 0.025 of the signed rank statistic.
@pytest.mark.parametrize("count, cut", [(5, 0), (6, 1), (7, 3), (8, 4), (9, 6), (10, 9), (12, 14), (15, 26), (20, 53)])
def test_the_exact_distribution_is_the_one_of_the_tables(count, cut):
    assert critical_rank(count) == cut


def test_six_blocks_are_the_fewest():
    assert fewest_blocks() == 6


def test_interval_of_numbers_worked_out_by_hand():
    # The averages of pairs of 1..6 run from 1 to 6; one is cut off at each end, the median is 3.5.
    assert interval([4, 1, 6, 3, 5, 2]) == (3.5, 1, 6)


@pytest.mark.parametrize("better, verdict", [("higher", HELPS), ("lower", HURTS)])
def test_twice_as_much_is_found_and_rightly_sized(better, verdict):
    found = effect([(10, 20), (11, 22.1), (10.5, 21), (9.9, 19.9), (10.2, 20.3), (10, 20.2), (10.1, 20)], better)
    assert found["verdict"] == verdict
    assert 98 < found["low"] <= found["percent"] <= found["high"] < 103


def test_what_differs_by_little_has_no_effect_and_says_what_would_have_been_seen():
    found = effect([(100, 100.1), (100, 99.9), (100, 100.2), (100, 99.8), (100, 100.05), (100, 100.1), (100, 99.95)],
                   "higher")
    assert found["verdict"] == NOTHING
    assert found["said"] == ("no measurable effect: +0.0 % (-0.1 % to +0.1 %, 7 blocks); one of 0.1 % would have been "
                             "seen")


def test_noise_that_hides_an_effect_asks_for_more_blocks():
    found = effect([(100, 120), (100, 85), (100, 103), (100, 95), (100, 110), (100, 97)], "higher")
    assert found["verdict"] == INCONCLUSIVE and found["more_blocks"] > 100
    assert found["said"].startswith(f"inconclusive: needs {found['more_blocks']} more blocks; so far ")


@pytest.mark.parametrize("blocks, more", [(0, 6), (1, 5), (5, 1)])
def test_nothing_is_claimed_from_few_runs(blocks, more):
    found = effect([(10, 20)] * blocks, "higher")
    assert (found["verdict"], found["more_blocks"], found["low"], found["high"]) == (INCONCLUSIVE, more, None, None)
    assert f"needs {more} more blocks" in found["said"]


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf, "12"])
def test_a_value_without_a_ratio_is_named(wrong):
    with pytest.raises(ValueError, match=f"{wrong!r} is not a positive number"):
        effect([(1, 2), (1, wrong)], "higher")


def test_a_direction_that_is_none_is_named():
    with pytest.raises(ValueError, match="'up': higher or lower"):
        effect([(1, 2)], "up")


# -- simulated benchmarks ----------------------------------------------------------------------------------------------


def simulate(seed, blocks, percent=0.0, noise=0.03, drift=0.0, first=0.0, outliers=0.0):
    """Blocks of two runs in an order drawn by chance. Each run is `drift` slower than the one before it, the first of
    a block by `first`, and one in some is an outlier of 30 percent."""
    draw, pairs = random.Random(seed), []
    for block in range(blocks):
        order, values = draw.sample("AB", 2), {}
        for position, arm in enumerate(order):
            value = 100 * math.exp(draw.gauss(0, noise) - drift * (2 * block + position))
            value *= (1 - first if position == 0 else 1) * (1 + percent / 100 if arm == "B" else 1)
            values[arm] = value * (0.7 if draw.random() < outliers else 1)
        pairs.append((values["A"], values["B"]))
    return pairs


WORLDS = {"plain": {}, "drift": {"drift": 0.02}, "first": {"first": 0.1}, "outliers": {"outliers": 0.1}}


def false_claims(world, experiments):
    return sum(effect(simulate(seed, 12, **WORLDS[world]), "higher")["verdict"] in (HELPS, HURTS)
               for seed in range(experiments))


@pytest.mark.parametrize("world", WORLDS)
def test_where_nothing_differs_little_is_claimed(world):
    # Of 200 experiments 5 percent are 10; 19 are more than chance allows once in a hundred.
    assert false_claims(world, 200) < 19


@pytest.mark.soak
@pytest.mark.parametrize("world", WORLDS)
def test_where_nothing_differs_little_is_claimed_in_many_experiments(world):
    assert false_claims(world, 2000) / 2000 < 0.05 + 0.01


@pytest.mark.parametrize("world", WORLDS)
def test_a_real_effect_lies_in_its_interval(world):
    found = [effect(simulate(seed, 12, 10, **WORLDS[world]), "higher") for seed in range(200)]
    covered = sum(one["low"] <= 10 <= one["high"] for one in found)
    assert covered >= 180      # 95 percent are 190; fewer than 180 come by chance once in a thousand
    assert all(one["verdict"] != HURTS for one in found)


def test_ten_percent_are_seen_through_three_percent_of_noise():
    assert sum(effect(simulate(seed, 12, 10), "higher")["verdict"] == HELPS for seed in range(200)) == 200
