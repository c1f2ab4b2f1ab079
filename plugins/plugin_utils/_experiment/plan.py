# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What an experiment compares with what, and in which order.

Every arm is a question with two states: A without and B with what is asked about. An arm has its blocks, each one run
in A and one in B next to each other. A round is one block of every arm, in a new random order, so that whatever drifts
through the hours drifts through all arms alike.
"""
from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from .._statistics.blocks import AFTER, BEFORE, order
from .toggles import LEAVE_ONE_OUT, PLAN, Toggle


class Arm(NamedTuple):
    """One question. `before` and `after` are the names of the toggles that are on in the states A and B."""

    name: str
    toggles: tuple[Toggle, ...]     # those that it tells about
    before: frozenset[str]
    after: frozenset[str]

    def on(self, state: str) -> frozenset[str]:
        return {BEFORE: self.before, AFTER: self.after}[state]


class Slot(NamedTuple):
    """One run to be made."""

    arm: str
    block: int      # from 1, within its arm
    state: str      # A or B


def make_arms(mode: str, toggles: Sequence[Toggle]) -> list[Arm]:
    """The whole plan as one arm, or an arm for each toggle: alone, or the plan without it against the whole plan."""
    everything = frozenset(toggle.name for toggle in toggles)
    if mode == PLAN:
        return [Arm(PLAN, tuple(toggles), frozenset(), everything)]
    if mode == LEAVE_ONE_OUT:
        return [Arm(toggle.name, (toggle,), everything - {toggle.name}, everything) for toggle in toggles]
    return [Arm(toggle.name, (toggle,), frozenset(), frozenset((toggle.name,))) for toggle in toggles]


def schedule(arms: Sequence[Arm], blocks: int, seed: int) -> list[Slot]:
    """All runs in their order, which the seed decides alone."""
    orders = {arm.name: order(blocks, f"{seed} {arm.name}") for arm in arms}
    draw = random.Random(f"{seed} rounds")
    slots = []
    for block in range(blocks):
        for arm in draw.sample(arms, len(arms)):
            slots += [Slot(arm.name, block + 1, state) for state in orders[arm.name][block]]
    return slots


def count_restarts(slots: Sequence[Slot], arms: Sequence[Arm], slow: frozenset[str]) -> int:
    """How often a workload is started again that does not feel the toggles named `slow` while it runs."""
    by_name = {arm.name: arm for arm in arms}
    states = [by_name[slot.arm].on(slot.state) & slow for slot in slots]
    return sum(one != other for one, other in zip(states, states[1:])) + 1 if slow and states else 0
