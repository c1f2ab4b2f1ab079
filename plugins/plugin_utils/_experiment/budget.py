# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The estimated cost of an experiment, reported before it begins."""
from __future__ import annotations

from typing import Any

from .._render.text import count

SWITCH_SECONDS = 3.0        # time for setters around a run, on a distant host


def make_budget(runs: int, warm_up: int, timeout: float, seconds_a_run: float | None, around_run: float,
                gpus: int) -> dict[str, Any]:
    """`{runs, warm_up, seconds_a_run, minutes, minutes_at_most, gpus}`.

    `seconds_a_run` is the duration of an earlier run of this benchmark, or None: then only its timeout is known, and
    `minutes` is None. `around_run` is the waiting time before each run, in seconds.
    """
    every = runs + warm_up

    def minutes(seconds: float) -> float:
        return round(every * (seconds + around_run + SWITCH_SECONDS) / 60, 1)

    return {"runs": runs, "warm_up": warm_up, "seconds_a_run": seconds_a_run, "timeout": timeout,
            "minutes": None if seconds_a_run is None else minutes(seconds_a_run),
            "minutes_at_most": minutes(timeout), "gpus": gpus}


def describe_budget(budget: dict[str, Any]) -> str:
    """`96 runs and 1 to warm up, about 52 minutes (an earlier run took 29.0 s), at most 977; 8 GPUs blocked`."""
    runs = count(budget["runs"], "run") + (f" and {budget['warm_up']} for warm-up" if budget["warm_up"] else "")
    if budget["minutes"] is None:
        time = f"at most {budget['minutes_at_most']:g} minutes, with a timeout of {budget['timeout']:g} s per run"
    else:
        time = f"about {budget['minutes']:g} minutes (an earlier run took {budget['seconds_a_run']:.1f} s), at most "\
               f"{budget['minutes_at_most']:g}"
    gpus = f"{count(budget['gpus'], 'GPU')} that nothing else may use meanwhile" if budget["gpus"] else "no GPU"
    return f"{runs}, {time}; {gpus}"


def require_within(budget: dict[str, Any], limit: float | None) -> None:
    """ValueError if it would take longer than the user allows."""
    if not limit:
        return
    minutes = budget["minutes_at_most"] if budget["minutes"] is None else budget["minutes"]
    if minutes <= limit:
        return
    hint = "fewer changes (gpuhost_experiment_changes) or blocks (gpuhost_experiment_blocks)"
    if budget["minutes"] is None:
        hint += ", a shorter timeout, or one run of playbooks/benchmark.yml to measure the duration of a run"
    raise ValueError(f"the experiment was not started: {describe_budget(budget)}, and "
                     "gpuhost_experiment_budget_minutes "
                     f"allows {limit:g}. Take {hint}")
