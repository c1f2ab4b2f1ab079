# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""One experiment on one host from first to last write: the runs, the final state the user chose, the record.

The settings always reach their final state: through this process as long as it lives, otherwise through restore, for
which the journal on the host has every write.
"""
from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .._benchmark.definition import CONTROLLER, Benchmark
from .._benchmark.executor import executor
from .._benchmark.run import measure_once, restart
from .._records.host_folder import HostFolder
from .._records.measured import add_measured
from .._render.text import clean, count, one_line
from . import record
from .interruptions import Interrupted, Interruptions, TimeLimitReached, at_most
from .keep import write_overrides
from .machine import Machine
from .power_analysis import FIRST_RUNS, noise_by_metric, noise_lines, one_state
from .prepare import Prepared
from .runs import Bench, Experiment, Run
from .settings import ConcurrentChange, ExperimentError, Settings

BEFORE, AFTER, BEST = ENDS = ("before", "after", "best")
FINISHED = "finished"
WAY_BACK_SECONDS = 120
CONTROLLER_LOCK = ".benchmark.lock"     # next to the folders of the hosts

Say = Callable[[str], None]


class Session:
    """`arguments` are those of the action; `say` prints a line for the user."""

    def __init__(self, folder: HostFolder, machine: Machine, prepared: Prepared, arguments: Mapping[str, Any],
                 say: Say, loud: bool) -> None:
        self.folder = folder
        self.machine = machine
        self.prepared = prepared
        self.arguments = arguments
        self.say = say
        self.loud = loud        # one line per run
        self.interruptions = Interruptions()
        self.noise_told = bool(prepared.noise)
        self.host = folder.path.name
        self.changes: list[dict[str, Any]] = []     # the outcome of each setting, in the form of setters
        self.document = record.begin(
            self.host, machine.run_id, prepared.benchmark, prepared.arms, prepared.left_out,
            boot_id=prepared.boot_id, measured_at=_now(), mode=arguments["mode"], budget=prepared.budget,
            blocks=arguments["blocks"], seed=prepared.seed, matters=arguments["matters"], end_state=arguments["end"])

    def carry_out(self) -> dict[str, Any]:
        """The finished document. ExperimentError: nothing was begun. Returns only if no signal arrived."""
        settings = self.machine.learn(self.prepared.toggles)
        self._tell_of_others(settings)
        inexact = self.machine.read(settings.inexact)
        self.say(f"{self.host}: Ctrl-C ends it: all changes are restored before ansible-playbook exits")
        with self.interruptions:
            record.write(self.folder, self.document, newest=True)
            try:
                self._run(settings)
            finally:
                self._end(settings, inexact)
        self.interruptions.hand_on()
        return self.document

    def _tell_of_others(self, settings: Settings) -> None:
        for address, runs in self.machine.left_by_others(settings.all).items():
            self.say(f"{self.host}: {address} was set by run {runs[-1]} before: this experiment starts from that "
                     "state and restores it")

    # -- the runs -----------------------------------------------------------------------------------------------------

    def _run(self, settings: Settings) -> None:
        minutes, pause = self.arguments["budget_minutes"], self.arguments["pause_seconds"]
        experiment = Experiment(self.machine, settings, self.prepared.arms, self._bench(), self._note,
                                lambda: self._sleep(pause), time.monotonic() + 60 * minutes if minutes else None)
        self.document["runs"] = experiment.runs
        try:
            self.document["ended"] = experiment.run(self.prepared.slots) or FINISHED
        except Interrupted:
            self.interruptions.end_children()
            self.document["ended"] = self.interruptions.message
        except (ExperimentError, ValueError) as problem:
            self.document["ended"] = f"failed: {problem}"
        except BaseException as problem:
            if self.interruptions.signal is None:
                self.document["ended"] = f"failed: {type(problem).__name__}: {problem}"
                raise
            self.document["ended"] = self.interruptions.message  # a benchmark on the controller ends by SystemExit then

    def _bench(self) -> Bench:
        benchmark = self.prepared.benchmark
        return Bench(self._measure, self._restart if benchmark.restart else None, benchmark.warm_up,
                     benchmark.limits.users is not None)

    def _measure(self, number: int, warm_up: bool) -> Run:
        benchmark = self.prepared.benchmark
        with self.interruptions.let_through(), self._alone(benchmark):
            return measure_once(executor(benchmark.where, self._ask_workload), benchmark, number,
                                self.folder.run(self.machine.run_id), warm_up=warm_up)

    @contextlib.contextmanager
    def _alone(self, benchmark: Benchmark) -> Iterator[None]:
        """Run benchmarks on the controller one at a time, however many hosts are experimented on."""
        if benchmark.where != CONTROLLER:
            yield
            return
        with record.hold(self.folder.path.parent / CONTROLLER_LOCK, self.machine.run_id, wait=True):
            yield

    def _restart(self, number: int) -> None:
        benchmark = self.prepared.benchmark
        with self.interruptions.let_through():
            restart(executor(benchmark.restart.where, self._ask_workload), benchmark,
                    self.folder.run(self.machine.run_id), number)

    def _ask_workload(self, arguments: dict[str, Any]) -> Mapping[str, Any]:
        return self.machine.ask("gpuhost.tuning.workload", {**arguments, "run_id": self.machine.run_id}, False)

    def _sleep(self, seconds: float) -> None:
        with self.interruptions.let_through():
            time.sleep(seconds)

    def _note(self, run: Run) -> None:
        record.write(self.folder, self.document, newest=False)
        self._tell_of_noise()
        if not self.loud:
            return
        place = "warm-up" if run["arm"] is None else f"{run['arm']} block {run['block']} {run['state']}"
        figures = ", ".join(f"{name} {value:g}" for name, value in run["values"].items())
        message = f"does not count: {one_line(run['discarded'])}" if run["discarded"] else figures
        self.say(clean(f"{self.host}: run {run['number']}: {place}: {message}"))

    def _tell_of_noise(self) -> None:
        """Print, once after the first runs in one state, which effects can be seen beside their noise. No comparison is
        made yet, and nothing depends on it."""
        runs = one_state(self.document["runs"], self.arguments["mode"])
        if self.noise_told or len(runs) < FIRST_RUNS:
            return
        self.noise_told = True
        known = noise_by_metric(runs, [metric.name for metric in self.prepared.benchmark.metrics])
        for line in noise_lines(self.arguments["blocks"], self.prepared.comparisons, known, self.arguments["matters"],
                                "first runs"):
            self.say(clean(f"{self.host}: {line}"))

    # -- the end ------------------------------------------------------------------------------------------------------

    def _end(self, settings: Settings, inexact: Mapping[str, Any]) -> None:
        """Set the final state and record the settings."""
        document = self.document
        complete = self._evaluate()
        try:
            with at_most(WAY_BACK_SECONDS):
                left = self._leave(settings, self._wanted(complete))
                # A reboot or something else may have changed more than the restore could see.
                settings.note_values(self.machine.read(settings.all))
                now = self.machine.read(settings.inexact)
            document["drift"] = [{"address": address, "before": inexact.get(address), "after": value}
                                 for address, value in now.items() if value != inexact.get(address)]
        except TimeLimitReached:
            left = [f"the restore took more than {WAY_BACK_SECONDS} s"]
        except Exception as problem:      # a lost connection, a full disk: report it whatever it is
            left = [f"the restore failed: {one_line(problem)}"]
        self.changes = settings.outcomes()
        document["state"] = {address: one.seen for address, one in settings.all.items()}
        if left:
            document["ended"] += f". Not restored: {'; '.join(left)}. Run playbooks/restore.yml with -e "\
                                 f"gpuhost_run_id={self.machine.run_id}"
            self.say(clean(f"{self.host}: {document['ended']}"))
        record.write(self.folder, document, newest=True)
        if complete:
            add_measured(self.folder.path, "experiment", document["run_id"], document["measured_at"],
                         document["boot_id"], record.measured_entries(document, self.prepared.arms))
            write_overrides(self.folder, document, self.arguments["overrides"])

    def _evaluate(self) -> bool:
        """Record the results as far as they go; return whether they are complete. Nothing may delay the restore after
        the runs."""
        try:
            record.evaluate(self.document, self.arguments["matters"])
        except (ValueError, ArithmeticError) as problem:
            self.document["ended"] = f"failed: {problem}"
        return self.complete

    @property
    def complete(self) -> bool:
        """Whether the verdicts are those of a completed experiment."""
        return self.document["ended"] == FINISHED or self.document["ended"].startswith("stopped: ")

    def _wanted(self, complete: bool) -> frozenset[str]:
        """The toggles that are on at the end: none after a failure, as nothing is known about them."""
        arms, end = self.prepared.arms, self.arguments["end"]
        if end == BEFORE or not (complete or self.interruptions.signal):
            return frozenset()
        help_most = record.helpful(self.document)
        chosen = [arm for arm in arms if end == AFTER or arm.name in help_most]
        return frozenset(toggle.name for arm in chosen for toggle in arm.toggles)

    def _leave(self, settings: Settings, on: frozenset[str]) -> list[str]:
        """Apply the final state; return what could not be set."""
        if on:
            try:
                self.machine.bring_about(settings, on)
                return []
            except (ExperimentError, ConcurrentChange) as problem:
                self.document["ended"] = f"failed: {problem}"
        self.document["end_state"] = BEFORE
        return [f"{change['address']}: {change['reason']}" for change in self.machine.way_back(settings)]


def summary_line(host: str, document: Mapping[str, Any], changes: Iterable[Mapping[str, Any]]) -> str:
    """`pve1: experiment finished after 97 runs: every setting is back at what it was`."""
    away = [change["outcome"] for change in changes if change["outcome"] != "reverted"]
    state = "all settings are restored" if not away else \
        f"{count(away.count('changed'), 'setting')} left changed, {len(away) - away.count('changed')} not touched"
    return clean(f"{host}: experiment {document['ended']} after {count(len(document['runs']), 'run')}: {state}")


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
