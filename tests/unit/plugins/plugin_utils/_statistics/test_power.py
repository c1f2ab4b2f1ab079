# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an experiment of a size can find, against numbers worked out by hand and against simulated experiments."""
from __future__ import annotations

import math

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.blocks import complete_blocks
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.effect import effect
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.power import (
    blocks_for,
    blocks_needed,
    chance_needed,
    effect_seen,
    noise,
    smallest_chance,
)

from simulated import WORLDS, runs


@pytest.mark.parametrize("blocks, ways", [(8, 70), (9, 126), (10, 252), (12, 924)])
def test_the_smallest_chance_is_two_of_the_ways_to_choose_half(blocks, ways):
    assert smallest_chance(blocks) == pytest.approx(2 / ways)


# 2/70 = 0.0286, 2/126 = 0.0159, 2/252 = 0.0079, 2/462 = 0.0043, 2/924 = 0.0022, 2/1716 = 0.0012 against 0.05 / number.
@pytest.mark.parametrize("comparisons, blocks", [(1, 8), (2, 9), (3, 9), (4, 10), (6, 10), (7, 11), (11, 11), (12, 12),
                                                 (16, 12), (23, 12), (24, 13)])
def test_so_many_comparisons_need_so_many_blocks(comparisons, blocks):
    assert blocks_needed(comparisons) == blocks
    assert smallest_chance(blocks) <= chance_needed(comparisons) < smallest_chance(blocks - 1)


def test_noise_is_that_of_the_logarithms():
    # e^-0.1, 1 and e^0.1 lie 0.1 apart.
    assert noise([math.exp(-0.1), 1.0, math.exp(0.1)]) == pytest.approx(0.1)
    assert noise([1.0, 1.0, 1.0]) == 0
    assert noise([1.0, 2.0]) is None
    assert noise([1.0, 2.0, 0.0]) is None


def test_nothing_is_seen_where_nothing_can_stand():
    assert effect_seen(8, 2, 0.03) is None
    assert effect_seen(9, 2, 0.0) == 0


@pytest.mark.parametrize("blocks", [8, 12])
def test_an_effect_that_is_said_to_be_seen_is_found_in_four_of_five_experiments(blocks):
    percent = effect_seen(blocks, 1, 0.03)
    found = sum(effect(complete_blocks(runs(WORLDS["plain"], seed, blocks, percent), "one", "speed"), "higher")[
        "verdict"] == "helps" for seed in range(200))
    # 160 of 200 with a standard error of 5.7.
    assert 142 <= found <= 178


def test_blocks_for_an_effect_are_those_with_which_it_is_seen():
    blocks = blocks_for(2.0, 16, 0.03)
    assert effect_seen(blocks, 16, 0.03) <= 2.0 < effect_seen(blocks - 1, 16, 0.03)
    assert blocks_for(0.1, 1, 0.3) is None
