# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What an experiment of a given size can find, told before it is run.

Comparisons are judged together by Holm's method, whose first step asks for a chance of at most 5 percent divided by
their number. The smallest chance that blocks allow is that of all differences on one side: 2 of the ways to choose
which half of them runs A first. Where even that is too large nothing can be found, however large an effect is.
"""
from __future__ import annotations

import functools
import math
import random
import statistics
from collections.abc import Sequence

from .effect import CONFIDENCE, critical_rank

MOST_BLOCKS = 400           # more than a week of runs
POWER = 0.8                 # the share of experiments in which an effect of the size that is told is found
_DRAWS = 400                # simulated experiments
_BY_SIMULATION = 48         # blocks; beyond, the normal distribution is less than a tenth off
_FEWEST_RUNS = 3            # of which noise can be told


def smallest_chance(blocks: int) -> float:
    """The smallest two-sided chance that so many blocks can give."""
    return min(1.0, 2 / math.comb(blocks, blocks // 2))


def chance_needed(comparisons: int) -> float:
    """What the first of several differences has to stay below."""
    return (1 - CONFIDENCE) / max(comparisons, 1)


def blocks_needed(comparisons: int) -> int:
    """The fewest blocks with which one difference among so many comparisons can stand: 8 for one, 12 for sixteen."""
    wanted = chance_needed(comparisons) + 1e-12
    return next(blocks for blocks in range(2, MOST_BLOCKS) if smallest_chance(blocks) <= wanted)


def noise(values: Sequence[float]) -> float | None:
    """The standard deviation of the logarithms of what alike runs gave; None of too few, or of values without one."""
    if len(values) < _FEWEST_RUNS or any(value <= 0 for value in values):
        return None
    return statistics.stdev(map(math.log, values))


def effect_seen(blocks: int, comparisons: int, deviation: float) -> float | None:
    """Percent that an effect must have to be found in 4 of 5 experiments, beside noise of this standard deviation of
    a run's logarithm; None where none can be found. By simulation: normal noise, always the same draws."""
    shift = _shift_seen(blocks, comparisons)
    return None if shift is None else math.expm1(shift * deviation) * 100


def blocks_for(percent: float, comparisons: int, deviation: float) -> int | None:
    """The blocks with which an effect of so many percent would be found; None for more than MOST_BLOCKS."""
    low, high = blocks_needed(comparisons), MOST_BLOCKS
    if effect_seen(high, comparisons, deviation) > percent:
        return None
    while low < high:
        middle = (low + high) // 2
        if effect_seen(middle, comparisons, deviation) <= percent:
            high = middle
        else:
            low = middle + 1
    return low


@functools.cache
def _shift_seen(blocks: int, comparisons: int) -> float | None:
    """The shift, in standard deviations of one run, with which POWER of the experiments find it."""
    if smallest_chance(blocks) > chance_needed(comparisons) + 1e-12:
        return None
    if blocks > _BY_SIMULATION:
        # The estimate has the variance of two runs divided by the blocks, and 3 / pi of the mean's efficiency.
        normal = statistics.NormalDist()
        sure = normal.inv_cdf(1 - chance_needed(comparisons) / 2) + normal.inv_cdf(POWER)
        return sure * math.sqrt(2 / blocks * math.pi / 3)
    firsts = blocks // 2
    cut = critical_rank(firsts, blocks - firsts, 1 - chance_needed(comparisons))
    draw = random.Random(f"{blocks} {comparisons}")
    # As in effect.interval(): a shift moves all halves of differences, and is found when `cut` - 1 of them at most stay
    # below zero.
    needed = sorted(-_nth_half(draw, firsts, blocks - firsts, cut) for _number in range(_DRAWS))
    return max(needed[math.ceil(POWER * _DRAWS) - 1], 0.0)


def _nth_half(draw: random.Random, first: int, second: int, rank: int) -> float:
    """Of simulated blocks in which nothing differs; a block's ratio holds the noise of two runs."""
    ones, others = ([draw.gauss(0, math.sqrt(2)) for _block in range(count)] for count in (first, second))
    return sorted((one - other) / 2 for one in ones for other in others)[rank - 1]
