# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Estimates how much B differs from A, with a confidence interval, from blocks that measured both.

Each block gives the log ratio of its second run to its first. In blocks that ran A first it contains the effect, in the
others its negative, and in both whatever makes a second run differ from a first (drift, a warm cache). So half of the
shift between the two kinds of blocks is the effect alone. It is estimated by the median of all pairwise differences
(Hodges and Lehmann); the interval is that of the rank sum test (Mann, Whitney, Wilcoxon) with the exact distribution.
No distribution of the noise is assumed: the test relies only on the random choice of the blocks that run A first
(`blocks.order()`).

Sources: Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, chapter 4; Koch, The use of non-parametric
methods in the statistical analysis of the two-period change-over design, Biometrics 28 (1972).
"""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.blocks import BEFORE, Block

HELPS, HURTS, NOTHING, INCONCLUSIVE = "helps", "hurts", "no measurable effect", "inconclusive"
CONFIDENCE = 0.95
HIGHER, LOWER = "higher", "lower"


class Interval(NamedTuple):
    """A confidence interval in log ratios B / A; infinite if there are too few blocks for the confidence. `chance` is
    the two-sided p-value: of a shift at least this large if nothing differs."""

    estimate: float
    low: float
    high: float
    chance: float


def effect(blocks: Sequence[Block], better: str, matters: float = 2.0, among: int = 1) -> dict[str, Any]:
    """The outcome of one metric, evaluated on its own:
    `{verdict, percent, low, high, blocks, chance, smallest_seen, more_blocks, more_runs, said}`.

    `better` is HIGHER or LOWER. Percentages are of A: `percent` is the estimate, `low` and `high` are the ends of its
    95 % interval (null without enough blocks). An effect below `matters` percent is of no interest; `smallest_seen` is
    the effect that is ruled out if nothing was found. Its interval is wide enough for `among` simultaneous comparisons:
    at most 5 of 100 experiments rule out an effect that exists in any of them. together() corrects the differences
    that were found. ValueError: a value that is not a positive number.
    """
    if better not in (HIGHER, LOWER):
        raise ValueError(f"better is {better!r}: {HIGHER} or {LOWER} is wanted")
    for one in (value for block in blocks for value in (block.before, block.after)):
        if isinstance(one, bool) or not (isinstance(one, (int, float)) and math.isfinite(one) and one > 0):
            raise ValueError(f"{one!r} is not a positive number: a ratio needs positive numbers")
    samples = _by_order(blocks)
    found = interval(*samples)
    wide = interval(*samples, 1 - (1 - CONFIDENCE) / among) if among > 1 else found
    more = blocks_missing(found, wide, len(blocks), matters)
    verdict = _verdict(found, better, more)
    result = {
        "verdict": verdict, "blocks": len(blocks), "chance": round(found.chance, 6),
        "percent": _percent(found.estimate), "low": _percent(found.low), "high": _percent(found.high),
        "smallest_seen": _percent(_farthest(wide)) if verdict == NOTHING else None,
        "more_blocks": more if verdict == INCONCLUSIVE else None,
        "more_runs": 2 * more if verdict == INCONCLUSIVE else None,
    }
    return {**result, "said": describe(result)}


def interval(first_before: Sequence[float], first_after: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Half of the shift between two samples: the log ratios second run / first run of the two kinds of blocks."""
    halves = sorted((one - other) / 2 for one in first_before for other in first_after)
    if not halves:
        return Interval(math.nan, -math.inf, math.inf, 1.0)
    middle = (halves[(len(halves) - 1) // 2] + halves[len(halves) // 2]) / 2
    counts = len(first_before), len(first_after)
    against = min(sum(one <= 0 for one in halves), sum(one >= 0 for one in halves))     # a tie counts against a shift
    chance = min(1.0, 2 * sum(_ways(*counts)[:against + 1]) / math.comb(sum(counts), counts[0]))
    cut = critical_rank(*counts, confidence)
    if cut == 0:
        return Interval(middle, -math.inf, math.inf, chance)
    return Interval(middle, halves[cut - 1], halves[-cut], chance)


@functools.cache
def critical_rank(first: int, second: int, confidence: float = CONFIDENCE) -> int:
    """The rank of the interval's ends: the largest c with P(U < c) at most (1 - confidence) / 2.

    0 if even U = 0 is more likely than that, as with fewer than eight blocks at 95 percent.
    """
    allowed, seen = (1 - confidence) / 2 * math.comb(first + second, first), 0
    for total, number in enumerate(_ways(first, second)):
        seen += number
        if seen > allowed:
            return total
    return 0


@functools.cache
def _ways(first: int, second: int) -> list[int]:
    """[u]: number of orders of two samples with u inverted pairs; the coefficients of the Gaussian binomial."""
    ways = [1] + [0] * (first * second)
    for count in range(1, first + 1):
        for total in range(first * second, second + count - 1, -1):
            ways[total] -= ways[total - second - count]
        for total in range(count, first * second + 1):
            ways[total] += ways[total - count]
    return ways


def fewest_blocks(confidence: float = CONFIDENCE) -> int:
    """The fewest blocks that give a finite interval: 8 at 95 percent."""
    return next(count for count in range(2, 64) if critical_rank(count // 2, count - count // 2, confidence))


def blocks_missing(found: Interval, wide: Interval, blocks: int, matters: float) -> int:
    """An estimate of how many more blocks would give a verdict; an interval narrows with the root of their number.

    A metric is decided (0) if its interval excludes zero, or if the `wide` interval excludes all effects that matter.
    For an effect near `matters` both need many blocks.
    """
    wanted = math.log1p(matters / 100)
    if math.isinf(found.low):
        return max(fewest_blocks() - blocks, 1)
    if _farthest(wide) <= wanted or not found.low <= 0 <= found.high:
        return 0
    nearest = max(abs(found.estimate), wanted - abs(found.estimate))
    return max(math.ceil(blocks * ((found.high - found.low) / 2 / nearest) ** 2) - blocks, 1)


def stand_together(chances: Sequence[float]) -> list[bool]:
    """Which of several differences are significant after Holm's correction: if nothing differs, at most 5 of 100
    experiments have one or more."""
    return [chance <= 1 - CONFIDENCE + 1e-12 for chance in adjust(chances)]


def adjust(chances: Sequence[float]) -> list[float]:
    """The p-values of several comparisons, adjusted: Holm, A simple sequentially rejective multiple test procedure,
    Scandinavian Journal of Statistics 6 (1979)."""
    adjusted, largest = [1.0] * len(chances), 0.0
    for rank, number in enumerate(sorted(range(len(chances)), key=lambda position: chances[position])):
        largest = max(largest, min(1.0, chances[number] * (len(chances) - rank)))
        adjusted[number] = largest
    return adjusted


def together(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """All effects of an experiment after correction for multiple comparisons, in their order.

    Each gets `alone`, its uncorrected verdict, and `adjusted`, its adjusted p-value. A difference that is no longer
    significant is inconclusive."""
    return [_beside_others(one, chance, len(found))
            for one, chance in zip(found, adjust([one["chance"] for one in found]))]


def _beside_others(one: dict[str, Any], adjusted: float, comparisons: int) -> dict[str, Any]:
    judged = {**one, "alone": one["verdict"], "adjusted": round(adjusted, 6)}
    if one["verdict"] not in (HELPS, HURTS) or adjusted <= 1 - CONFIDENCE + 1e-12:
        return judged
    message = (f"{INCONCLUSIVE}: one of {comparisons} comparisons, and not significant after correction: "
               f"{_span(one)[:-1]}, {one['blocks']} blocks of 2 runs); test it in a separate experiment")
    return {**judged, "verdict": INCONCLUSIVE, "said": message}


def describe(result: dict[str, Any]) -> str:
    """`helps: +4.1 % (+3.2 % to +5.0 %, 12 blocks of 2 runs)`."""
    blocks = result["blocks"]
    if result["verdict"] == INCONCLUSIVE:
        in_all = blocks + result["more_blocks"]
        message = f"{INCONCLUSIVE}: needs {result['more_runs']} more runs ({blocks} blocks of 2 runs were measured, "
        if result["low"] is None:
            return f"{message}fewer than {in_all} allow no verdict)"
        return f"{message}about {in_all} are needed; so far {_span(result)})"
    message = f"{result['verdict']}: {_span(result)[:-1]}, {blocks} blocks of 2 runs)"
    if result["verdict"] != NOTHING:
        return message
    if result["low"] == result["high"] == 0:
        return f"{message}; most runs gave the same value, so the metric may be too coarse"
    return f"{message}; one beyond {result['smallest_seen']:.1f} % would have been detected"


def _span(result: dict[str, Any]) -> str:
    percent, low, high = (round(result[key], 1) + 0.0 for key in ("percent", "low", "high"))     # -0.0 becomes 0.0
    return f"{percent:+.1f} % ({low:+.1f} % to {high:+.1f} %)"


def _by_order(blocks: Sequence[Block]) -> tuple[list[float], list[float]]:
    """Log ratios second run / first run: of the blocks that ran A first, and of the others."""
    return ([math.log(block.after / block.before) for block in blocks if block.first == BEFORE],
            [math.log(block.before / block.after) for block in blocks if block.first != BEFORE])


def _verdict(found: Interval, better: str, more: int) -> str:
    if found.low <= 0 <= found.high:
        return INCONCLUSIVE if more else NOTHING
    return HELPS if (found.low > 0) == (better == HIGHER) else HURTS


def _farthest(found: Interval) -> float:
    return max(-found.low, found.high)


def _percent(value: float) -> float | None:
    return round(math.expm1(value) * 100, 2) if math.isfinite(value) else None
