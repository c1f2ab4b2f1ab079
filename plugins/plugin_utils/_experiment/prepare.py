# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Prepare an experiment before its first run: match the user's request with the plan and estimate the cost."""
from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, NamedTuple

from .._benchmark.definition import Benchmark, load_benchmark
from .._records.host_folder import HostFolder, read_json
from .._render.text import clean, count, show
from .._statistics.power import blocks_needed
from .budget import describe_budget, make_budget, require_within
from .plan import Arm, Slot, count_restarts, make_arms, schedule
from .power_analysis import Noise, comparisons_of, noise_by_metric, power_lines, require_findable
from .record import earlier_runs, seconds_a_run
from .toggles import AT_ONCE, Excluded, Toggle, choose, make_toggles

_SHOWN = 8      # blocks of the schedule that are shown


class Prepared(NamedTuple):
    """Everything that is decided before the host is touched."""

    benchmark: Benchmark
    toggles: list[Toggle]
    left_out: list[Excluded]
    arms: list[Arm]
    slots: list[Slot]
    seed: int
    budget: dict[str, Any]
    boot_id: str | None
    comparisons: int
    noise: dict[str, Noise]     # of the metrics, from earlier runs of this benchmark
    matters: float


def prepare(folder: HostFolder, run_id: str, arguments: Mapping[str, Any]) -> Prepared:
    """ValueError or RecordError: why the experiment is not begun."""
    if arguments["left_alone"]:
        raise ValueError("the experiment was not started: " + "; ".join(arguments["left_alone"]))
    if not arguments["benchmark"]:
        raise ValueError("gpuhost_benchmark is not set: an experiment needs a benchmark, see docs/evidence.md")
    if arguments["blocks"] < 1:
        raise ValueError(f"gpuhost_experiment_blocks is {arguments['blocks']}: at least 1 is required, "
                         f"{blocks_needed(1)} for a verdict")
    before = read_before(folder, run_id)
    benchmark = load_benchmark(arguments["benchmark"])
    toggles, left_out = make_toggles(choose(arguments["changes"], arguments["only"]), arguments["mode"],
                                     benchmark.starts_workload or benchmark.restart is not None)
    arms = make_arms(arguments["mode"], toggles)
    comparisons = comparisons_of(arms, benchmark.metrics)
    require_findable(arguments["blocks"], comparisons)
    seed = random.SystemRandom().randrange(1 << 32) if arguments["seed"] is None else arguments["seed"]
    slots = schedule(arms, arguments["blocks"], seed)
    budget = _budget(folder, benchmark, slots, arms, len(before["guard"]["paths"]))
    require_within(budget, arguments["budget_minutes"])
    earlier = [run for run in earlier_runs(folder, benchmark) if not run.get("warm_up")]
    known = noise_by_metric(earlier, [metric.name for metric in benchmark.metrics])
    return Prepared(benchmark, toggles, left_out, arms, slots, seed, budget, before["boot_id"], comparisons, known,
                    arguments["matters"])


def read_before(folder: HostFolder, run_id: str) -> dict[str, Any]:
    """What the audit recorded about the host before any change, including `boot_id` and `guard`."""
    return read_json(folder.run(run_id) / "before.json")


def _budget(folder: HostFolder, benchmark: Benchmark, slots: list[Slot], arms: list[Arm], gpus: int) -> dict[str, Any]:
    slow = frozenset(toggle.name for arm in arms for toggle in arm.toggles if toggle.takes_effect != AT_ONCE)
    restarts = count_restarts(slots, arms, slow) if benchmark.restart else 0
    budget = make_budget(len(slots), benchmark.warm_up * max(restarts, 1), benchmark.timeout,
                         seconds_a_run(folder, benchmark), benchmark.settle_seconds, gpus)
    return {**budget, "restarts": restarts}


def schedule_lines(host: str, run_id: str, prepared: Prepared) -> list[str]:
    """The planned comparisons, their cost and their order."""
    lines = [f"{host}: experiment {run_id} with {prepared.benchmark.name!r}: {describe_budget(prepared.budget)}"]
    if prepared.budget["restarts"]:
        lines.append(f"  the workload is restarted {count(prepared.budget['restarts'], 'time')}, which takes "
                     "additional time")
    for arm in prepared.arms:
        values = [f"{change['address']} {show(change['before'])} -> {show(change['wanted'])}"
                  for toggle in arm.toggles for change in toggle.changes]
        more = f" and {len(values) - 3} more" if len(values) > 4 else ""
        lines.append(f"  {arm.name}: {', '.join(values[:3 if more else 4])}{more}")
    lines += [f"  not compared: {one.address}: {one.reason}" for one in prepared.left_out]
    pairs = list(zip(prepared.slots[::2], prepared.slots[1::2]))
    shown = ", ".join(f"{one.arm} {one.state}{other.state}" for one, other in pairs[:_SHOWN])
    lines.append(f"  {count(len(pairs), 'block')} of 2 runs by seed {prepared.seed}: {shown}"
                 f"{', ...' if len(pairs) > _SHOWN else ''}")
    blocks = len(pairs) // len(prepared.arms)
    lines += [f"  {line}" for line in power_lines(blocks, prepared.comparisons, prepared.noise, prepared.matters,
                                                  "earlier runs")]
    return [clean(line.replace("\n", " ")) for line in lines]
