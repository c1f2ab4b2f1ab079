# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The comparisons of an experiment and the order of its runs.

Every arm compares two states: A without and B with the change in question. An arm is divided into blocks of one run in
A and one in B next to each other. A round is one block of every arm in a new random order, so that drift over the hours
affects all arms alike.
"""
from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from .._statistics.blocks import AFTER, BEFORE, order
from .toggles import LEAVE_ONE_OUT, PLAN, Toggle


class Arm(NamedTuple):
    """One comparison. `before` and `after` are the names of the toggles that are on in states A and B."""

    name: str
    toggles: tuple[Toggle, ...]     # those that it measures
    before: frozenset[str]
    after: frozenset[str]

    def on(self, state: str) -> frozenset[str]:
        return {BEFORE: self.before, AFTER: self.after}[state]


class Slot(NamedTuple):
    """One planned run."""

    arm: str
    block: int      # from 1, within its arm
    state: str      # A or B


def make_arms(mode: str, toggles: Sequence[Toggle]) -> list[Arm]:
    """One arm for the whole plan, or one for each toggle: on its own, or the plan without it against the whole plan."""
    everything = frozenset(toggle.name for toggle in toggles)
    if mode == PLAN:
        return [Arm(PLAN, tuple(toggles), frozenset(), everything)]
    if mode == LEAVE_ONE_OUT:
        return [Arm(toggle.name, (toggle,), everything - {toggle.name}, everything) for toggle in toggles]
    return [Arm(toggle.name, (toggle,), frozenset(), frozenset((toggle.name,))) for toggle in toggles]


def schedule(arms: Sequence[Arm], blocks: int, seed: int) -> list[Slot]:
    """All runs in order, determined by the seed alone."""
    orders = {arm.name: order(blocks, f"{seed} {arm.name}") for arm in arms}
    draw = random.Random(f"{seed} rounds")
    slots = []
    for block in range(blocks):
        for arm in draw.sample(arms, len(arms)):
            slots += [Slot(arm.name, block + 1, state) for state in orders[arm.name][block]]
    return slots


def count_restarts(slots: Sequence[Slot], arms: Sequence[Arm], slow: frozenset[str]) -> int:
    """The number of restarts for a workload that does not notice the toggles named `slow` while it runs."""
    by_name = {arm.name: arm for arm in arms}
    states = [by_name[slot.arm].on(slot.state) & slow for slot in slots]
    return sum(one != other for one, other in zip(states, states[1:])) + 1 if slow and states else 0
