# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import collections

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.blocks import Block, complete_blocks, order


@pytest.mark.parametrize("blocks, halves", [(0, {0}), (1, {0, 1}), (8, {4}), (9, {4, 5})])
def test_half_of_the_blocks_begin_with_each_state(blocks, halves):
    drawn = [order(blocks, seed) for seed in range(50)]
    assert all(sorted(block) == ["A", "B"] for blocks_of_one in drawn for block in blocks_of_one)
    assert {len(one) for one in drawn} == {blocks}
    assert {sum(block == ["A", "B"] for block in one) for one in drawn} == halves


def test_each_of_the_orders_is_as_likely_as_any_other():
    # 4 blocks have 6 orders; 3000 draws are 500 each, and 100 more or less are five times what chance explains.
    drawn = collections.Counter("".join(head for head, rest in order(4, seed)) for seed in range(3000))
    assert len(drawn) == 6
    assert all(400 < count < 600 for count in drawn.values())


def test_a_seed_gives_one_order():
    assert order(12, "20261129T183000Z-4f2a") == order(12, "20261129T183000Z-4f2a") != order(12, "another")


def test_fewer_than_no_blocks():
    with pytest.raises(ValueError, match="-1 blocks: 0 or more are wanted"):
        order(-1, 0)


def run(number, block, state, value, arm="all", discarded=None):
    return {"number": number, "arm": arm, "block": block, "state": state, "discarded": discarded,
            "values": None if value is None else {"speed": value}}


def test_only_what_was_measured_in_both_states_is_a_block():
    runs = [run(1, 0, "A", 10), run(2, 0, "B", 11), run(3, 1, "B", 12), run(4, 1, "A", 9, discarded="too hot"),
            run(5, 2, "B", 13), run(6, 2, "A", 8), run(7, 3, "A", 7), run(8, 3, "B", None),
            run(9, 0, "A", 1, arm="other"), run(10, 0, "B", 2, arm="other")]
    assert complete_blocks(runs, "all", "speed") == [Block(10, 11, "A"), Block(8, 13, "B")]
    assert complete_blocks(runs, "all", "latency") == []


def test_a_block_that_was_run_again_counts_with_what_was_kept():
    runs = [run(1, 0, "A", 10), run(2, 0, "B", 11, discarded="too hot"), run(3, 0, "B", 12), run(4, 0, "A", 9)]
    assert complete_blocks(runs, "all", "speed") == [Block(9, 12, "B")]
