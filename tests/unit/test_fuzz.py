# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A little of what `make fuzz` does: a few inputs for each target, the same ones in every run."""
from __future__ import annotations

import random

import pytest

from fuzz.__main__ import feed
from fuzz.damage import damage_bytes, damage_document
from fuzz.targets import Seeds, Target

FEW = {"readers": 8, "judging": 8, "facts": 20, "journals": 150, "texts": 150, "answers": 150, "archives": 5,
       "imports": 12}


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    return {target.name: target for target in Seeds(tmp_path_factory.mktemp("fuzz")).targets()}


@pytest.mark.parametrize("name", FEW)
def test_damaged_input_is_taken_or_refused_with_a_message(targets, name):
    wrong = [found for seed in range(FEW[name]) if (found := feed(targets[name], seed)) is not None]
    assert wrong == []


def test_what_goes_wrong_is_told():
    def break_off(_dice):
        raise TypeError("unhashable type")

    assert "TypeError: unhashable type" in feed(Target("broken", 1, break_off), 1)


def test_the_same_seed_does_the_same_damage():
    data = b"vm.swappiness = 60\n" * 20
    first, again = (damage_bytes(random.Random(7), data) for _time in range(2))
    assert first == again != data
    document = {"a": [1, 2, {"b": "c"}], "d": {"e": None}}
    damage_document(random.Random(3), document)
    assert document != {"a": [1, 2, {"b": "c"}], "d": {"e": None}}
