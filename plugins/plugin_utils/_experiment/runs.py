# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The runs of an experiment: from state to state, a run in each, and what becomes of those that do not count.

A run counts once the setters have found, behind it, that every setting is still what it was brought to before it.
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
    """The user's benchmark as an experiment needs it; each callable may raise ValueError with `run`, a failed run."""

    def __init__(self, measure: Callable[[int, bool], Run], restart: Callable[[int], None] | None, warm_up: int,
                 users_chosen: bool) -> None:
        self.measure = measure              # (number, whether it is to warm up) -> the run in the record's form
        self.restart = restart              # (number of the run behind it); None: nothing is restarted
        self.warm_up = warm_up              # runs before the first one, and behind every restart
        self.users_chosen = users_chosen    # whether the user said who may use a GPU


class Experiment:
    """What has been run so far. `note` is called with every run, so that the record is never far behind."""

    def __init__(self, machine: Machine, settings: Settings, arms: Sequence[Arm], bench: Bench,
                 note: Callable[[Run], None], pause: Callable[[], None], deadline: float | None) -> None:
        self.machine = machine
        self.settings = settings
        self.arms = {arm.name: arm for arm in arms}
        self.bench = bench
        self.note = note
        self.pause = pause              # before a block is run again
        self.deadline = deadline        # time.monotonic() behind which no block is begun
        self.runs: list[Run] = []
        self.failed = 0                 # runs that did not count
        self.on: frozenset[str] = frozenset()
        # What a workload that runs already does not feel.
        self.slow = frozenset(toggle.name for arm in arms for toggle in arm.toggles if toggle.takes_effect != AT_ONCE)
        self.restarts = bool(bench.restart and self.slow)

    def run(self, slots: Sequence[Slot]) -> str | None:
        """All runs in their order; why there are fewer, None where there are not.

        ExperimentError, or the ValueError of a run that failed: it cannot go on.
        """
        ended = None
        if not self.restarts:
            self._warm_up()
        queue, limit = deque(slots), may_discard(len(slots))
        unsure: tuple[Slot, Run] | None = None      # the last run, until the setters have looked behind it
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
        """A block is run as a whole or not at all: begin it again, unless too much went wrong already."""
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
        """Whether time is up, and this run would be the first of its block."""
        begun = any((run["arm"], run["block"]) == (slot.arm, slot.block) for run in self.runs)
        return self.deadline is not None and time.monotonic() > self.deadline and not begun

    def _switch(self, slot: Slot, unsure: Run | None) -> list[str]:
        """Bring about the state of a run; what something else changed since the last one, which is discarded then."""
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
            said = f"metric {wrong} is {run['values'][wrong]:g}"
            self._discard(run, said)
            raise ExperimentError(f"run {run['number']}: {said}, and only positive values can be compared in percent. "
                                  "Remove the metric")

    def _attempt(self, slot: Slot | None, warm_up: bool) -> Run:
        """One run, kept whatever came of it."""
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
