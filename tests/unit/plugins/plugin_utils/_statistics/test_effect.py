# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import itertools
import math

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.blocks import Block
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.effect import (
    HELPS,
    HURTS,
    INCONCLUSIVE,
    NOTHING,
    critical_rank,
    effect,
    fewest_blocks,
    interval,
    stand_together,
    together,
)
from hypothesis import given
from hypothesis import strategies as st


def blocks(*pairs):
    """Of (A, B): the first began with A, the next with B, and so on."""
    return [Block(before, after, first) for (before, after), first in zip(pairs, itertools.cycle("AB"))]


# The tables of the rank sum test: U is significant at 0.05 (two-sided) up to one less than these.
@pytest.mark.parametrize("first, second, cut", [
    (0, 9, 0), (1, 30, 0), (3, 4, 0), (3, 5, 1), (4, 4, 1), (4, 5, 2), (5, 5, 3), (6, 6, 6), (7, 7, 9), (8, 8, 14),
    (5, 8, 7), (10, 10, 24), (12, 12, 38), (20, 20, 128)])
def test_the_exact_distribution_is_the_one_of_the_tables(first, second, cut):
    assert critical_rank(first, second) == critical_rank(second, first) == cut


def test_eight_blocks_are_the_fewest():
    assert fewest_blocks() == 8


def test_interval_of_numbers_worked_out_by_hand():
    # Differences 9..3 (10-1 .. 7-4): in order 3 4 4 5 5 5 6 6 6 6 7 7 7 8 8 9; one is cut off at each end.
    # All are on one side of zero, as with 2 of the 70 ways to choose four of eight.
    assert interval([10, 9, 8, 7], [1, 2, 3, 4]) == (3, 1.5, 4.5, pytest.approx(2 / 70))


def test_chance_of_numbers_worked_out_by_hand():
    # One pair of the sixteen stands the other way round: 2 * (1 + 1) of 70.
    assert interval([10, 9, 8, 3.5], [1, 2, 3, 4]).chance == pytest.approx(4 / 70)
    assert interval([1, 2], [1, 2]).chance == 1


@pytest.mark.parametrize("better, verdict", [("higher", HELPS), ("lower", HURTS)])
def test_twice_as_much_is_found_and_rightly_sized(better, verdict):
    found = effect(blocks((10, 20), (11, 22.1), (10.5, 21), (9.9, 19.9), (10.2, 20.3), (10, 20.2), (10.1, 20),
                          (10, 20)), better)
    assert found["verdict"] == verdict
    assert 98 < found["low"] <= found["percent"] <= found["high"] < 103
    assert found["chance"] == round(2 / 70, 6)


@pytest.mark.parametrize("better, verdict", [("higher", HURTS), ("lower", HELPS)])
def test_half_as_much_is_found_and_rightly_sized(better, verdict):
    found = effect(blocks(*[(10 + number / 10, 5 + number / 20) for number in range(8)]), better)
    assert (found["verdict"], found["percent"]) == (verdict, -50)


def test_a_second_run_that_is_twice_as_fast_is_no_effect():
    found = effect(blocks(*[(100, 200), (200, 100)] * 5), "higher")
    assert (found["verdict"], found["percent"], found["low"], found["high"]) == (NOTHING, 0, 0, 0)


def test_an_effect_of_a_tenth_is_seen_beside_a_second_run_that_is_twice_as_fast():
    found = effect(blocks(*[(100, 220), (200, 110)] * 5), "higher")
    assert (found["verdict"], found["percent"]) == (HELPS, 10)


def test_what_differs_by_little_has_no_effect_and_says_what_would_have_been_seen():
    found = effect(blocks((100, 100.1), (100, 99.9), (100, 100.2), (100, 99.8), (100, 99.9), (100, 100.1),
                          (100, 100.05), (100, 99.95)), "higher")
    assert found["verdict"] == NOTHING
    assert found["said"] == ("no measurable effect: +0.0 % (-0.1 % to +0.1 %, 8 blocks of 2 runs); one beyond 0.1 % "
                             "would have been detected")


def test_an_effect_that_matters_is_not_ruled_out_by_a_narrow_interval_beside_it():
    # 1.2 percent, give or take 1.5: nothing is known, 2.5 percent are as likely as none.
    found = effect(blocks(*[(100, after) for after in (99.1, 103.3, 101.2, 99.8, 102.6) for again in "AB"]), "higher")
    assert found["low"] < 0 and found["high"] > 2 and (found["high"] - found["low"]) / 2 < 2
    assert found["verdict"] == INCONCLUSIVE


def test_runs_that_are_all_equal_are_said_to_be():
    found = effect(blocks(*[(7, 7)] * 8), "lower")
    assert found["said"] == ("no measurable effect: +0.0 % (+0.0 % to +0.0 %, 8 blocks of 2 runs); most runs gave the "
                             "same value, so the metric may be too coarse")


def test_noise_that_hides_an_effect_asks_for_more_runs():
    found = effect(blocks((100, 120), (100, 85), (100, 103), (100, 95), (100, 110), (100, 97), (100, 90), (100, 104)),
                   "higher")
    more = found["more_blocks"]
    assert found["verdict"] == INCONCLUSIVE and more > 100 and found["more_runs"] == 2 * more
    assert found["said"].startswith(f"inconclusive: needs {2 * more} more runs (8 blocks of 2 runs were measured, "
                                    f"about {8 + more} are needed; so far ")


@pytest.mark.parametrize("count, more", [(0, 8), (1, 7), (7, 1)])
def test_nothing_is_claimed_from_few_runs(count, more):
    found = effect(blocks(*[(10, 20)] * count), "higher")
    assert (found["verdict"], found["more_blocks"], found["low"], found["high"]) == (INCONCLUSIVE, more, None, None)
    assert found["said"] == (f"inconclusive: needs {2 * more} more runs ({count} blocks of 2 runs were measured, fewer "
                             "than 8 allow no verdict)")


def test_nothing_is_claimed_where_all_blocks_ran_the_same_state_first():
    found = effect([Block(10, 20, "A")] * 12, "higher")
    assert (found["verdict"], found["more_blocks"], found["percent"]) == (INCONCLUSIVE, 1, None)


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf, "12", True, None])
def test_a_value_without_a_ratio_is_named(wrong):
    with pytest.raises(ValueError, match=f"{wrong!r} is not a positive number"):
        effect(blocks((1, 2), (1, wrong)), "higher")


def test_a_direction_that_is_none_is_named():
    with pytest.raises(ValueError, match="'up': higher or lower"):
        effect(blocks((1, 2)), "up")


@pytest.mark.parametrize("chances, stand", [
    ([], []), ([0.05], [True]), ([0.0501], [False]),
    # Holm's limits for four are 0.0125, 0.0167, 0.025 and 0.05; behind the first that misses its limit none stands.
    ([0.02, 0.001, 0.5, 0.015], [True, True, False, True]), ([0.02, 0.001, 0.5, 0.02], [False, True, False, False]),
    ([0.013, 0.013, 0.013, 0.013], [False] * 4)])
def test_several_differences_are_judged_together(chances, stand):
    assert stand_together(chances) == stand


def test_a_difference_that_does_not_stand_among_others_is_not_decided_and_says_so():
    steady = blocks(*[(100, 100)] * 8)
    found = [effect(blocks(*[(100, after) for after in (103, 104, 105, 106, 107, 108, 109, 110)]), "higher", among=2),
             effect(steady, "higher", among=2)]
    # The first is at 2 of 70 ways, 0.0286, which is 0.0571 beside another one.
    assert (found[0]["verdict"], found[0]["chance"]) == (HELPS, 0.028571)
    first, second = together(found)
    assert (first["verdict"], first["alone"], first["adjusted"]) == (
        INCONCLUSIVE, HELPS, pytest.approx(4 / 70, abs=2e-6))
    assert first["said"].startswith("inconclusive: one of 2 comparisons, and not significant after correction: +6.5 % "
                                    "(")
    assert first["said"].endswith(", 8 blocks of 2 runs); test it in a separate experiment")
    assert second["alone"] == second["verdict"]
    assert together(found[:1])[0]["verdict"] == HELPS


def test_what_is_ruled_out_among_several_is_ruled_out_by_a_wider_interval():
    noisy = blocks(*[(100, 100 + offset) for offset in (1.2, -1.1, 0.4, 0.3, -0.6, -0.9, 0.8, 1.0, -0.2, 0.1)])
    alone, among = effect(noisy, "higher"), effect(noisy, "higher", among=6)
    assert (alone["verdict"], among["verdict"]) == (NOTHING, NOTHING)
    assert alone["smallest_seen"] == max(-alone["low"], alone["high"]) < among["smallest_seen"]
    assert (alone["low"], alone["high"]) == (among["low"], among["high"])
    # 8 blocks have no interval that is wide enough for two.
    assert effect(noisy[:8], "higher")["verdict"] == NOTHING
    assert effect(noisy[:8], "higher", among=2)["verdict"] == INCONCLUSIVE


# -- whatever the numbers are ------------------------------------------------------------------------------------------

VALUES = st.floats(0.001, 1000)
ONE = st.builds(Block, VALUES, VALUES, st.sampled_from("AB"))
SOME = st.lists(ONE, min_size=1, max_size=14)
BOTH_ORDERS = SOME.map(lambda some: [*some, some[0]._replace(first="A"), some[0]._replace(first="B")])


@given(SOME)
def test_an_estimate_lies_in_its_interval_and_a_claim_is_rare_by_chance(some):
    found = effect(some, "higher")
    if found["percent"] is not None and found["low"] is not None:
        assert found["low"] <= found["percent"] <= found["high"]
    assert (found["verdict"] in (HELPS, HURTS)) == (found["chance"] <= 0.05)


@given(BOTH_ORDERS, st.floats(0.01, 100))
def test_the_unit_does_not_matter(some, factor):
    scaled = [Block(one.before * factor, one.after * factor, one.first) for one in some]
    assert effect(scaled, "higher")["percent"] == pytest.approx(effect(some, "higher")["percent"], abs=0.02, rel=1e-3)


@given(SOME)
def test_what_helps_one_way_hurts_the_other(some):
    turned = [Block(one.after, one.before, "BA"["AB".index(one.first)]) for one in some]
    verdicts = {HELPS: HURTS, HURTS: HELPS}
    verdict, other = effect(some, "higher")["verdict"], effect(turned, "higher")["verdict"]
    assert verdict in (HELPS, HURTS) or other not in (HELPS, HURTS)
    assert other == verdicts.get(verdict, other)
    assert effect(some, "lower")["verdict"] == verdicts.get(verdict, verdict)


@given(BOTH_ORDERS, st.floats(0.5, 2))
def test_what_a_second_run_gains_drops_out(some, gain):
    warmed = [Block(one.before * (gain if one.first == "B" else 1), one.after * (gain if one.first == "A" else 1),
                    one.first) for one in some]
    assert effect(warmed, "higher")["percent"] == pytest.approx(effect(some, "higher")["percent"], abs=0.02, rel=1e-3)
