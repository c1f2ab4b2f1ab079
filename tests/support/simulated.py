# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated benchmarks with known effect and noise, to measure how often verdicts are correct."""
from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

Noise = Callable[[random.Random, int], list[float]]


class World(NamedTuple):
    """Influences on a benchmark apart from the change. `noise(draw, runs)` is added to the logarithm of each run's
    value, `second` to that of the second run of every block; `discarded` is the share of discarded runs."""

    what: str
    noise: Noise
    second: float = 0.0
    discarded: float = 0.0


def gaussian(sigma: float = 0.03) -> Noise:
    return lambda draw, runs: [draw.gauss(0, sigma) for number in range(runs)]


def drifting(draw: random.Random, runs: int) -> list[float]:
    """Each run is 2 percent slower than the one before it."""
    return [value - 0.02 * number for number, value in enumerate(gaussian()(draw, runs))]


def stepping(draw: random.Random, runs: int) -> list[float]:
    """A quarter slower from a point near the middle on."""
    start = draw.randrange(runs // 3, 2 * runs // 3)
    return [value - 0.25 * (number >= start) for number, value in enumerate(gaussian()(draw, runs))]


def autocorrelated(draw: random.Random, runs: int) -> list[float]:
    """Each run's deviation keeps 0.9 of the previous one's."""
    values = [draw.gauss(0, 0.03)]
    while len(values) < runs:
        values.append(0.9 * values[-1] + draw.gauss(0, 0.03 * math.sqrt(1 - 0.9 ** 2)))
    return values


def heavy_tailed(draw: random.Random, runs: int) -> list[float]:
    """The Cauchy distribution, which has no variance, truncated where a run takes a hundred times as long."""
    return [max(-4.6, min(4.6, 0.02 * math.tan(math.pi * (draw.random() - 0.5)))) for number in range(runs)]


def outlying(draw: random.Random, runs: int) -> list[float]:
    """One run in ten takes a third longer."""
    return [value - 0.3 * (draw.random() < 0.1) for value in gaussian()(draw, runs)]


def waving(draw: random.Random, runs: int) -> list[float]:
    """A variation by 10 percent with a period of seven runs, as from another job on the host."""
    start = draw.random()
    return [value + 0.1 * math.sin(2 * math.pi * (number / 7 + start))
            for number, value in enumerate(gaussian()(draw, runs))]


WORLDS = {
    "plain": World("independent noise of 3 %", gaussian()),
    "drift": World("each run 2 % slower than the one before it", drifting),
    "warm_cache": World("the second run of each block 10 % faster", gaussian(), second=0.1),
    "step": World("a quarter slower from somewhere in the middle on", stepping),
    "autocorrelated": World("noise of 3 % of which 0.9 stays from run to run", autocorrelated),
    "heavy_tails": World("noise without a variance (Cauchy)", heavy_tailed),
    "outliers": World("one run in ten takes a third longer", outlying),
    "wave": World("10 % up and down every seven runs", waving),
    "discarded": World("one run in ten is discarded", gaussian(), discarded=0.1),
}


def runs(world: World, seed: object, blocks: int, percent: float = 0.0,
         figures: Sequence[str] = ("speed",)) -> list[dict[str, Any]]:
    """The runs of an experiment's document with one arm; B is `percent` above A in every metric, each with independent
    noise."""
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.blocks import order

    draw = random.Random(f"{world.what} {seed}")
    states = [state for block in order(blocks, f"order {world.what} {seed}") for state in block]
    logs = {name: world.noise(draw, len(states)) for name in figures}
    return [{
        "number": number, "arm": "one", "block": number // 2, "state": state,
        "discarded": "simulated" if draw.random() < world.discarded else None,
        "values": {name: 100 * math.exp(logs[name][number] + world.second * (number % 2)) * (
            1 + percent / 100 if state == "B" else 1) for name in figures},
    } for number, state in enumerate(states)]


def results(world: World, experiments: int, blocks: int, percent: float = 0.0) -> Iterator[dict[str, Any]]:
    """The verdicts of this many experiments."""
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.blocks import complete_blocks
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.effect import effect

    for seed in range(experiments):
        yield effect(complete_blocks(runs(world, seed, blocks, percent), "one", "speed"), "higher")


def false_claims(world: World, experiments: int, blocks: int) -> int:
    """The number of experiments without any effect that are reported to help or to hurt."""
    return sum(found["verdict"] in ("helps", "hurts") for found in results(world, experiments, blocks))


def experiment(world: World, seed: object, blocks: int, changes: int = 8, figures: int = 2,
               percent: float = 0.0) -> dict[str, Any]:
    """The evaluated document of an experiment that compares this many changes by this many metrics, each with
    independent noise. The first change raises every metric by `percent`, the others have no effect."""
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.record import evaluate

    names = [f"figure{number}" for number in range(figures)]
    document: dict[str, Any] = {
        "mode": "one_at_a_time", "benchmark": "simulated", "runs": [],
        "metrics": [{"name": name, "better": "higher", "unit": None} for name in names],
        "arms": [{"name": f"change{number}", "checks": [f"change{number}"], "toggles": [], "metrics": {}}
                 for number in range(changes)]}
    for arm in document["arms"]:
        of_arm = runs(world, f"{seed} {arm['name']}", blocks, percent if arm is document["arms"][0] else 0.0, names)
        document["runs"] += [{**run, "arm": arm["name"]} for run in of_arm]
    evaluate(document, 2.0)
    return document


def acted_on(document: dict[str, Any]) -> dict[str, set[str]]:
    """The consequences of an experiment: the changes `kept` as helpful, `written_off` for good, and set at the `end`
    with end: best."""
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.keep import overrides
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.record import helpful, overall

    return {"kept": {arm["name"] for arm in document["arms"] if overall(arm) == "helps"},
            "written_off": {check for check, override in overrides(document).items() if override["plan"] is False},
            "end": set(helpful(document))}
