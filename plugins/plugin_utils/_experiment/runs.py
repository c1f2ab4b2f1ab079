# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Execute the runs of an experiment: switch states, make a run in each, and repeat discarded ones.

A run counts once the setters have verified after it that every setting still has its value from before it.
"""
from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from .._render.text import count
from .._statistics.blocks import BEFORE
from .conditions import boot_of, may_discard, newcomer, rebooted
from .machine import Machine
from .plan import Arm, Slot
from .settings import ConcurrentChange, ExperimentError, Settings
from .toggles import AT_ONCE

Run = dict[str, Any]


class Bench:
    """The user's benchmark as an experiment uses it; each callable may raise ValueError with `run`, the failed run."""

    def __init__(self, measure: Callable[[int, bool], Run], restart: Callable[[int], None] | None, warm_up: int,
                 users_chosen: bool) -> None:
        self.measure = measure              # (number, whether it is a warm-up) -> the run in the record's form
        self.restart = restart              # (number of the run that follows); None: nothing is restarted
        self.warm_up = warm_up              # runs before the first one, and after every restart
        self.users_chosen = users_chosen    # whether the user listed who may use a GPU


class Experiment:
    """The runs so far. `note` is called after every run to keep the record up to date."""

    def __init__(self, machine: Machine, settings: Settings, arms: Sequence[Arm], bench: Bench,
                 note: Callable[[Run], None], pause: Callable[[], None], deadline: float | None) -> None:
        self.machine = machine
        self.settings = settings
        self.arms = {arm.name: arm for arm in arms}
        self.bench = bench
        self.note = note
        self.pause = pause              # before a block is repeated
        self.deadline = deadline        # time.monotonic() after which no block is begun
        self.runs: list[Run] = []
        self.failed = 0                 # discarded runs
        self.on: frozenset[str] = frozenset()
        # Changes that a running workload does not notice.
        self.slow = frozenset(toggle.name for arm in arms for toggle in arm.toggles if toggle.takes_effect != AT_ONCE)
        self.restarts = bool(bench.restart and self.slow)

    def run(self, slots: Sequence[Slot]) -> str | None:
        """Make all runs in order; return why there are fewer, or None.

        ExperimentError, or the ValueError of a failed run: the experiment cannot continue.
        """
        ended = None
        if not self.restarts:
            self._warm_up()
        queue, limit = deque(slots), may_discard(len(slots))
        unsure: tuple[Slot, Run] | None = None      # the last run, until the setters have verified the state after it
        while queue or unsure:
            if queue and self._late(queue[0]):
                ended = f"stopped: the time budget is used up, with {count(len(queue), 'run')} not made"
                queue.clear()
                continue
            foreign = self._switch(queue[0] if queue else unsure[0], unsure and unsure[1])
            if unsure and foreign:
                self._again(*unsure, queue, slots, limit)
            elif queue:
                slot = queue.popleft()
                run = self._measure(slot)
                if run["discarded"] is None:
                    unsure = (slot, run)
                    continue
                self._again(slot, run, queue, slots, limit)
                self.pause()
            unsure = None
        return ended

    def _again(self, slot: Slot, run: Run, queue: deque[Slot], slots: Sequence[Slot], limit: int) -> None:
        """Repeat a whole block, as half a block is of no use, unless too many runs were discarded already."""
        self.failed += 1
        if self.failed > limit:
            raise ExperimentError(f"{self.failed} runs do not count, at most {limit} may; the last one: "
                                  f"{run['discarded']}")
        block = (slot.arm, slot.block)
        for other in self.runs:
            if (other["arm"], other["block"]) == block and other["discarded"] is None:
                other["discarded"] = "its block was repeated"
        while queue and (queue[0].arm, queue[0].block) == block:
            queue.popleft()
        queue.extendleft(reversed([one for one in slots if (one.arm, one.block) == block]))

    def _late(self, slot: Slot) -> bool:
        """Whether the time is up and this run would be the first of its block."""
        begun = any((run["arm"], run["block"]) == (slot.arm, slot.block) for run in self.runs)
        return self.deadline is not None and time.monotonic() > self.deadline and not begun

    def _switch(self, slot: Slot, unsure: Run | None) -> list[str]:
        """Apply the state of a run; return what changed since the last run, which is discarded in that case."""
        on = self.arms[slot.arm].on(slot.state)
        try:
            foreign = self.machine.bring_about(self.settings, on)
        except ConcurrentChange as problem:
            self._discard(unsure, str(problem))
            raise
        if foreign:
            self._discard(unsure, f"{', '.join(foreign)} was changed by something else during the run")
        stale, self.on = bool(self.slow & (on ^ self.on)), on
        if self.restarts and (stale or foreign or not self.runs):
            self.bench.restart(len(self.runs) + 1)
            self._warm_up()
        return foreign

    def _discard(self, run: Run | None, reason: str) -> None:
        if run is not None:
            run["discarded"] = reason
            self.note(run)

    def _warm_up(self) -> None:
        for _once in range(self.bench.warm_up):
            self._attempt(None, True)

    def _measure(self, slot: Slot) -> Run:
        run = self._attempt(slot, False)
        reason = newcomer(run, self.runs[0], self.bench.users_chosen)
        if reason and run["discarded"] is None:
            self._discard(run, reason)
        if run["discarded"] is None:
            self._require_positive(run)
        return run

    def _require_positive(self, run: Run) -> None:
        wrong = next((name for name, value in run["values"].items() if value <= 0), None)
        if wrong is not None:
            reason = f"metric {wrong} is {run['values'][wrong]:g}"
            self._discard(run, reason)
            raise ExperimentError(f"run {run['number']}: {reason}, and only positive values can be compared in "
                                  "percent. Remove the metric")

    def _attempt(self, slot: Slot | None, warm_up: bool) -> Run:
        """Make one run and keep it, whatever its result."""
        try:
            run = self._keep(slot, self.bench.measure(len(self.runs) + 1, warm_up))
        except ValueError as problem:
            failed = getattr(problem, "run", {})
            if "number" in failed:
                self._keep(slot, failed)
            raise
        if rebooted(run, self.runs[0]):
            self._discard(run, "the host was rebooted")
            raise ExperimentError(f"the host was rebooted (boot {boot_of(self.runs[0])}, now {boot_of(run)}), which "
                                  "reset all settings. Start again")
        return run

    def _keep(self, slot: Slot | None, run: Run) -> Run:
        place = {"arm": None, "block": 0, "state": BEFORE} if slot is None else slot._asdict()
        self.runs.append({"number": run["number"], **place, **run})
        self.note(self.runs[-1])
        return self.runs[-1]
