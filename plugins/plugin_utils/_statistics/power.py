# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Power analysis: what an experiment of a given size can find, before it is run.

Comparisons are corrected by Holm's method, whose first step needs a p-value of at most 5 percent divided by their
number. The smallest p-value that blocks allow has all differences on one side: 2 of the ways to choose which half of
them runs A first. If even that is too large, nothing can be found, however large the effect.
"""
from __future__ import annotations

import functools
import math
import random
import statistics
from collections.abc import Sequence

from .effect import CONFIDENCE, critical_rank

MOST_BLOCKS = 400           # more than a week of runs
POWER = 0.8                 # the share of experiments that find an effect of the stated size
_DRAWS = 400                # simulated experiments
_BY_SIMULATION = 48         # blocks; beyond that the normal approximation is less than a tenth off
_FEWEST_RUNS = 3            # from which noise can be estimated


def smallest_chance(blocks: int) -> float:
    """The smallest two-sided p-value that this many blocks can give."""
    return min(1.0, 2 / math.comb(blocks, blocks // 2))


def chance_needed(comparisons: int) -> float:
    """The p-value that the first of several differences must not exceed."""
    return (1 - CONFIDENCE) / max(comparisons, 1)


def blocks_needed(comparisons: int) -> int:
    """The fewest blocks with which one of this many comparisons can be significant: 8 for one, 12 for sixteen."""
    wanted = chance_needed(comparisons) + 1e-12
    return next(blocks for blocks in range(2, MOST_BLOCKS) if smallest_chance(blocks) <= wanted)


def noise(values: Sequence[float]) -> float | None:
    """The standard deviation of the logarithms of identical runs' results; None for too few, or if one has none."""
    if len(values) < _FEWEST_RUNS or any(value <= 0 for value in values):
        return None
    return statistics.stdev(map(math.log, values))


def effect_seen(blocks: int, comparisons: int, deviation: float) -> float | None:
    """The effect, in percent, that 4 of 5 experiments find with this noise; None if none can be found.

    `deviation` is the standard deviation of a run's logarithm. By simulation: normal noise, always the same draws."""
    shift = _shift_seen(blocks, comparisons)
    return None if shift is None else math.expm1(shift * deviation) * 100


def blocks_for(percent: float, comparisons: int, deviation: float) -> int | None:
    """The blocks needed to find an effect of this many percent; None for more than MOST_BLOCKS."""
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
    """The shift, in standard deviations of one run, that a share POWER of the experiments find."""
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
    # As in effect.interval(): a shift moves all half differences, and is found if at most `cut` - 1 stay below zero.
    needed = sorted(-_nth_half(draw, firsts, blocks - firsts, cut) for _number in range(_DRAWS))
    return max(needed[math.ceil(POWER * _DRAWS) - 1], 0.0)


def _nth_half(draw: random.Random, first: int, second: int, rank: int) -> float:
    """The half difference of this rank in simulated blocks without an effect; a ratio has the noise of two runs."""
    ones, others = ([draw.gauss(0, math.sqrt(2)) for _block in range(count)] for count in (first, second))
    return sorted((one - other) / 2 for one in ones for other in others)[rank - 1]
