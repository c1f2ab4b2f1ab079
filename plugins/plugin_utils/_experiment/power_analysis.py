# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Before an experiment: its number of comparisons, whether any can be significant, and the smallest visible effect."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .._render.text import count
from .._statistics.blocks import AFTER, BEFORE
from .._statistics.power import (
    MOST_BLOCKS,
    blocks_for,
    blocks_needed,
    chance_needed,
    effect_seen,
    noise,
    smallest_chance,
)
from .toggles import LEAVE_ONE_OUT

FIRST_RUNS = 4          # in one state, from which noise is estimated during an experiment


class Noise(NamedTuple):
    """The standard deviation of a metric's logarithm between runs, and the number of runs it is estimated from."""

    deviation: float
    runs: int


def require_findable(blocks: int, comparisons: int) -> None:
    """ValueError if not even the largest effect could be significant."""
    wanted = blocks_needed(comparisons)
    if blocks >= wanted:
        return
    several = f"{comparisons} comparisons, corrected together," if comparisons > 1 else "1 comparison"
    fewer = ", or fewer changes (gpuhost_experiment_changes) or metrics" if comparisons > 1 else ""
    raise ValueError(f"the experiment was not started: gpuhost_experiment_blocks is {blocks}, and with {several} no "
                     "difference could be significant, however large: the smallest p-value that "
                     f"{count(blocks, 'block')} can give is {smallest_chance(blocks):.2g}, and "
                     f"{chance_needed(comparisons):.2g} or less is needed. Use gpuhost_experiment_blocks: "
                     f"{wanted}{fewer}")


def noise_by_metric(runs: Iterable[Mapping[str, Any]], metrics: Iterable[str]) -> dict[str, Noise]:
    """Noise from valid runs in one state; metrics with too few runs are left out."""
    values: dict[str, list[float]] = {name: [] for name in metrics}
    for run in runs:
        for name, found in values.items():
            if (run["values"] or {}).get(name) is not None:
                found.append(run["values"][name])
    told = {name: noise(found) for name, found in values.items()}
    return {name: Noise(deviation, len(values[name])) for name, deviation in told.items() if deviation is not None}


def one_state(runs: Iterable[Mapping[str, Any]], mode: str) -> list[Mapping[str, Any]]:
    """The valid runs in the state shared by all arms: everything off, or everything on with LEAVE_ONE_OUT."""
    shared = AFTER if mode == LEAVE_ONE_OUT else BEFORE
    return [run for run in runs if run["arm"] is not None and run["state"] == shared and run["discarded"] is None]


def power_lines(blocks: int, comparisons: int, known: Mapping[str, Noise], matters: float, when: str) -> list[str]:
    """What the plan can detect; `when` says which runs the noise is from, for example `of 5 earlier runs`."""
    together = ", corrected together" if comparisons > 1 else ""
    lines = [f"{count(comparisons, 'comparison')}{together}: the smallest p-value that {count(blocks, 'block')} can "
             f"give is {smallest_chance(blocks):.2g}, and {chance_needed(comparisons):.2g} or less is significant"]
    if not known:
        return [*lines, "the smallest detectable effect is not known, because the noise of the runs is not. It is "
                        "measured by playbooks/benchmark.yml, or by the first runs"]
    return [*lines, *noise_lines(blocks, comparisons, known, matters, when)]


def noise_lines(blocks: int, comparisons: int, known: Mapping[str, Noise], matters: float, when: str) -> list[str]:
    """A line for each metric, from the variation of its value between runs in one state."""
    lines = []
    for name, found in known.items():
        seen = effect_seen(blocks, comparisons, found.deviation)
        message = (f"{name}: the noise of a run is about {100 * found.deviation:.2g} % (of {found.runs} {when}), an "
                   f"effect of about {seen:.2g} % would be detected in 4 of 5 experiments")
        if seen > matters:
            wanted = blocks_for(matters, comparisons, found.deviation)
            blocks_told = f"about {wanted}" if wanted else f"more than {MOST_BLOCKS}"
            message += f"; one of {matters:g} % takes {blocks_told} blocks"
        lines.append(message)
    return lines


def comparisons_of(arms: Sequence[Any], metrics: Sequence[Any]) -> int:
    return len(arms) * len(metrics)
