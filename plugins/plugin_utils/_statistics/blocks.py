# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Blocks of an experiment: two consecutive runs, one in each state, in random order.

A block with a discarded run is left out as a whole: a ratio needs both runs, measured one after the other.
"""
from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

BEFORE, AFTER = "A", "B"


class Block(NamedTuple):
    """One metric in one block: its value in each state, and the state that was measured first."""

    before: float
    after: float
    first: str


def order(blocks: int, seed: int | str) -> list[list[str]]:
    """The states of each block in the order to run them.

    Half of the blocks (of an odd number, one more or less) run A first. Which half is random, and that makes the test
    in `_statistics/effect.py` exact. The same seed gives the same order. ValueError: `blocks` is negative.
    """
    if blocks < 0:
        raise ValueError(f"{blocks} blocks: 0 or more are wanted")
    draw = random.Random(seed)
    heads = [BEFORE, AFTER] * (blocks // 2) + ([draw.choice((BEFORE, AFTER))] if blocks % 2 else [])
    draw.shuffle(heads)
    return [[head, AFTER if head == BEFORE else BEFORE] for head in heads]


def complete_blocks(runs: Iterable[Mapping[str, Any]], arm: str, metric: str) -> list[Block]:
    """The blocks of an arm in which both runs have this metric and were not discarded, in run order.

    `runs` are those of an experiment's document: `{number, arm, block, state, values, discarded}`. A block that was
    repeated after a discarded run counts with its last kept run of each state.
    """
    kept: dict[Any, dict[str, tuple[int, float]]] = {}
    for run in runs:
        if run["arm"] == arm and not run["discarded"] and (run["values"] or {}).get(metric) is not None:
            kept.setdefault(run["block"], {})[run["state"]] = (run["number"], run["values"][metric])
    return [Block(both[BEFORE][1], both[AFTER][1], BEFORE if both[BEFORE][0] < both[AFTER][0] else AFTER)
            for both in kept.values() if len(both) == 2]
