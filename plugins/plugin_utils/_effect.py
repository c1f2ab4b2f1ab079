# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""How much B differs from A, from blocks in each of which both were measured, and how sure that is.

Each block gives one ratio B / A. The effect is the median of the averages of all pairs of log ratios (Hodges and
Lehmann's estimate), its interval is that of Wilcoxon's signed-rank test, with the test's exact distribution: no normal
noise is assumed, only that the order within a block was drawn by chance, which makes the log ratios symmetric where
nothing differs. A baseline that drifts, or a first run that is slower, widens the interval; it does not shift it.

Source: Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, chapter 3.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

HELPS, HURTS, NOTHING, INCONCLUSIVE = "helps", "hurts", "no measurable effect", "inconclusive"
CONFIDENCE = 0.95
HIGHER, LOWER = "higher", "lower"


class Interval(NamedTuple):
    """In log ratios; without an end where the blocks are too few for the confidence."""

    estimate: float
    low: float
    high: float


def effect(pairs: Sequence[tuple[float, float]], better: str, matters: float = 2.0) -> dict[str, Any]:
    """What became of one metric: `{verdict, percent, low, high, blocks, smallest_seen, more_blocks, said}`.

    `pairs` are (A, B) of each block, positive numbers; `better` is HIGHER or LOWER; percents are of A, and an effect
    under `matters` percent is of no interest. ValueError: a value that no ratio can be made of.
    """
    if better not in (HIGHER, LOWER):
        raise ValueError(f"better is {better!r}: {HIGHER} or {LOWER} is wanted")
    for one in (value for pair in pairs for value in pair):
        if not (isinstance(one, (int, float)) and math.isfinite(one) and one > 0):
            raise ValueError(f"{one!r} is not a positive number: no ratio can be made of it")
    found = interval([math.log(after / before) for before, after in pairs])
    more = blocks_missing(found, len(pairs), matters)
    verdict = _verdict(found, better, more)
    result = {
        "verdict": verdict, "blocks": len(pairs),
        "percent": _percent(found.estimate), "low": _percent(found.low), "high": _percent(found.high),
        "smallest_seen": _percent(_half_width(found)) if verdict == NOTHING else None,
        "more_blocks": more if verdict == INCONCLUSIVE else None,
    }
    return {**result, "said": describe(result)}


def interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The median of a symmetric distribution: Hodges and Lehmann's estimate with Wilcoxon's exact interval."""
    if not values:
        return Interval(math.nan, -math.inf, math.inf)
    averages = sorted((one + other) / 2 for position, one in enumerate(values) for other in values[position:])
    middle = (averages[(len(averages) - 1) // 2] + averages[len(averages) // 2]) / 2
    cut = critical_rank(len(values), confidence)
    if cut == 0:
        return Interval(middle, -math.inf, math.inf)
    return Interval(middle, averages[cut - 1], averages[-cut])


@functools.cache
def critical_rank(count: int, confidence: float = CONFIDENCE) -> int:
    """How many averages lie outside each end: the largest c with P(rank sum < c) at most half of what is left over.

    0 where even the smallest rank sum is likelier than that, as with fewer than six blocks at 95 percent.
    """
    ways = [1]      # ways[s]: subsets of the ranks 1..n whose sum is s
    for rank in range(1, count + 1):
        ways = [(ways[total] if total < len(ways) else 0) + (ways[total - rank] if total >= rank else 0)
                for total in range(len(ways) + rank)]
    allowed, seen = (1 - confidence) / 2 * 2 ** count, 0
    for total, number in enumerate(ways):
        seen += number
        if seen > allowed:
            return total
    raise AssertionError("the ways add up to 2 ** count")


def fewest_blocks(confidence: float = CONFIDENCE) -> int:
    """The blocks without which no interval has both ends: 6 at 95 percent."""
    return next(count for count in range(1, 64) if critical_rank(count, confidence))


def blocks_missing(found: Interval, blocks: int, matters: float) -> int:
    """How many more blocks would narrow the interval to `matters` percent on each side, as far as these tell."""
    width = _half_width(found)
    if math.isinf(width):
        return max(fewest_blocks() - blocks, 1)
    wanted = math.log1p(matters / 100)
    return max(math.ceil(blocks * (width / wanted) ** 2) - blocks, 0)


def describe(result: dict[str, Any]) -> str:
    """`helps: +4.1 % (+3.2 % to +5.0 %, 12 blocks)`."""
    if result["low"] is None:
        return f"{INCONCLUSIVE}: needs {result['more_blocks']} more blocks, {result['blocks']} are too few"
    span = f"{result['percent']:+.1f} % ({result['low']:+.1f} % to {result['high']:+.1f} %, {result['blocks']} blocks)"
    if result["verdict"] == INCONCLUSIVE:
        return f"{INCONCLUSIVE}: needs {result['more_blocks']} more blocks; so far {span}"
    if result["verdict"] == NOTHING:
        return f"{NOTHING}: {span}; one of {result['smallest_seen']:.1f} % would have been seen"
    return f"{result['verdict']}: {span}"


def _verdict(found: Interval, better: str, more: int) -> str:
    if found.low <= 0 <= found.high or math.isnan(found.estimate):
        return INCONCLUSIVE if more else NOTHING
    return HELPS if (found.low > 0) == (better == HIGHER) else HURTS


def _half_width(found: Interval) -> float:
    return (found.high - found.low) / 2


def _percent(value: float) -> float | None:
    return round(math.expm1(value) * 100, 2) if math.isfinite(value) else None
