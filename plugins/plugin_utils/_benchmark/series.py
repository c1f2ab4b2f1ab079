# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The series of runs of one benchmark on one host; the record is written completely after each run."""
from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

from .._records.host_folder import shown_path
from .._render.text import one_line
from .definition import Benchmark
from .report import number, terminal
from .run import BENCHMARK, Execute, RunFailed, document, measure_once, same_boot, write_newest, write_run

UNFINISHED = "still running"


class Series:
    """The runs of one benchmark on one host."""

    def __init__(self, benchmark: Benchmark, folder: pathlib.Path, run_id: str, say: Callable[[str], None], *,
                 loud: bool) -> None:
        """`folder` is that of the host, `say` prints lines on the terminal; `loud`: one line per run."""
        self.benchmark, self.folder, self.run_id = benchmark, folder, run_id
        self._say, self._loud = say, loud
        self.runs: list[dict[str, Any]] = []
        self.document: dict[str, Any] = {}

    def measure(self, execute: Execute) -> None:
        """Make all runs, and write the record after each. ValueError: why the series stopped early."""
        stopped: str | None = "it was interrupted"
        try:
            for one in range(1, self.benchmark.warm_up + self.benchmark.repetitions + 1):
                self._once(execute, one)
            stopped = None
        except ValueError as problem:
            stopped = str(problem)
            raise
        except Exception as problem:
            stopped = f"{type(problem).__name__}: {one_line(problem)}"
            raise
        finally:
            if self.runs:
                self._write(stopped)
                write_newest(self.folder, self.document)
                self._say(terminal(self.document, self.path()))

    def _once(self, execute: Execute, one: int) -> None:
        warm_up = one <= self.benchmark.warm_up
        try:
            self.runs.append(measure_once(execute, self.benchmark, one, self.folder / self.run_id, warm_up=warm_up))
        except RunFailed as failed:
            self.runs.append({**failed.run, "warm_up": warm_up})
            raise
        rebooted = same_boot(self.runs)
        if rebooted is not None:
            raise ValueError(rebooted)
        self._write(UNFINISHED)
        if self._loud:
            self._say(self._line(self.runs[-1]))

    def _line(self, run: dict[str, Any]) -> str:
        figures = ", ".join(f"{metric.name} {number(run['values'][metric.name])} {metric.unit}".rstrip()
                            for metric in self.benchmark.metrics)
        notes = ["warm-up"] * run["warm_up"] + [f"does not count: {run['discarded']}"] * bool(run["discarded"])
        return one_line(f"{self.folder.name}: run {run['number']}: {figures}{''.join(f' ({note})' for note in notes)}")

    def _write(self, stopped: str | None) -> None:
        self.document = document(self.folder.name, self.run_id, self.benchmark, self.runs, stopped)
        write_run(self.folder, self.document)

    def path(self) -> str:
        return shown_path(self.folder / self.run_id / BENCHMARK)

    def answer(self) -> dict[str, Any]:
        discarded = sum(run["discarded"] is not None and not run["warm_up"] for run in self.runs)
        answer = {"run_id": self.run_id, "record": self.path(), "summary": self.document["summary"],
                  "runs": len(self.runs), "discarded": discarded}
        if discarded == self.benchmark.repetitions:
            reasons = dict.fromkeys(run["discarded"] for run in self.runs if run["discarded"] and not run["warm_up"])
            return {**answer, "failed": True, "msg": f"no run of {self.benchmark.name!r} counts: "
                                                     f"{'; '.join(reasons)}. Wait, or change the limits"}
        return answer
