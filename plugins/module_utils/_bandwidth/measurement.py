# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Run the steps of a measurement in the child, one after the other, and decide when to stop.

The measurement ends at the first hang, the first death of the child, or the first sign of trouble.
"""
from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple

from .._change.hung_gpus import mark_hung
from .._host.host import Host
from .._host.reading import error_text
from .._pve.exec import container_id, container_prefix
from .gpus import Chosen, NotMeasurable
from .parent import DIED, ERROR, HUNG, RESULT, Answer, MeasuringChild
from .result import (
    HANG,
    HEALTHY,
    INCONCLUSIVE,
    NO_MEASUREMENT,
    SPLIT,
    WRONG_DATA,
    empty_gpu,
    empty_pair,
    gpu_record,
    group_record,
    judged,
    pair_record,
    sizes_left_out,
)
from .steps import Step, order
from .watch import Watch

WARM_UP = 0.5       # seconds of copying before a reading counts: an idle link takes a while to come up
_REASON_LIMIT = 300     # characters of text from a container
READING_MS = 10.0   # minimum duration of one reading


class Options(NamedTuple):
    pairs: bool
    concurrent: bool            # also measure concurrent copies
    steps: list[str]            # names of the steps to measure, empty for all
    sizes: list[int]            # bytes
    container: str | None
    timeout: int                # seconds for one step
    run_id: str
    library: str

    @property
    def where(self) -> str:
        if not self.container:
            return "host"
        return self.container if ":" in self.container else f"lxc:{self.container}"

    @property
    def place(self) -> str:
        return f"in container {self.container}" if self.container else "on the host"


class Measurement:
    """One measurement of the chosen GPUs. `popen` starts processes."""

    tool = "driver"

    def __init__(self, host: Host, chosen: Chosen, options: Options,
                 popen: Callable[..., subprocess.Popen] = subprocess.Popen) -> None:
        self.host = host
        self.options = options
        self.chosen = chosen.gpus
        self.bdfs = [gpu["bdf"] for gpu in chosen.gpus]
        self.gpus = {gpu["bdf"]: empty_gpu(gpu) for gpu in chosen.gpus}
        self.pairs: dict[tuple[str, ...], dict[str, Any]] = {}
        self.groups: list[dict[str, Any]] = []
        self.not_measured = list(chosen.not_measured)
        self.stopped: str | None = None
        self.hung: list[str] = []
        self.abandoned: int | None = None
        self.driver_version: str | None = None
        if chosen.watch_heat is not None:
            self.not_measured.append({"subject": "temperature", "reason": chosen.watch_heat})
        self.watch = Watch(host, chosen.watch_heat is None)
        if self.watch.blind:
            raise NotMeasurable(f"{self.watch.blind}: errors of a GPU would not be detected")
        # CUDA_VISIBLE_DEVICES with a GPU that a container lacks would hide all: let it see all that it has.
        uuids = [] if options.container else [gpu["uuid"] for gpu in chosen.gpus]
        self._settings = {
            "library": options.library, "sizes": options.sizes, "warm_up": WARM_UP, "reading_ms": READING_MS,
            "sys": host.local("/sys"), "visible": uuids if all(uuids) else [], "limit": options.timeout}
        self._popen = popen
        self._hidden: list[str] = []
        self._kernels = True        # False once the driver cannot compile one

    def run(self) -> None:
        """Run all steps. Raises NotMeasurable if not even the first one could be requested."""
        try:
            prefix = container_prefix(self.host, self.options.container) if self.options.container else []
            inside = container_id(self.options.container) if self.options.container else None
            child = MeasuringChild(self.host, prefix, inside, self._settings, self._popen)
        except ValueError as error:
            raise NotMeasurable(str(error)) from None
        except OSError as error:
            raise NotMeasurable(f"no measurement {self.options.place}: {error_text(error)}") from None
        try:
            self._ask_all(child)
        finally:
            abandoned = child.end() if self.abandoned is None else None
        if abandoned is not None:
            message = f"the measuring process {abandoned} did not exit and could not be killed"
            self.hang(tuple(self.bdfs), Answer(HUNG, None, message, abandoned=abandoned))
        self.stop(self.watch.trouble() if not self.hung else None)

    def _ask_all(self, child: MeasuringChild) -> None:
        self._begin(child.ask({"step": "init"}))
        wanted = self.options.steps
        for step in order(self.bdfs, self.options.pairs, self.options.concurrent):
            if wanted and step.name not in wanted:
                continue
            if step.request["step"] == "kernel" and not self._worth_a_kernel(step):
                continue
            self.stop(self.watch.trouble() if self.stopped is None else None)
            reason = self.stopped or self._tainted(step)
            if reason:
                self._leave_out(step, reason)
            else:
                self._take(step, child.ask(step.request))

    def _worth_a_kernel(self, step: Step) -> bool:
        """Whether the driver can compile kernels, and this pair is healthy or was not measured."""
        known = self.pairs.get(step.bdfs)
        return self._kernels and self.stopped is None and (known is None or known["verdict"] == HEALTHY)

    def _begin(self, answer: Answer) -> None:
        if answer.kind in (ERROR, DIED) and answer.abandoned is None:
            raise NotMeasurable(f"no measurement {self.options.place}: {answer.message}")
        if answer.kind == RESULT:
            self.driver_version = str(answer.result.get("version"))[:20]
        else:
            self.hang(tuple(self.bdfs), answer)
            self.gpus = {bdf: judged(gpu, HANG, answer.message) for bdf, gpu in self.gpus.items()}

    def _tainted(self, step: Step) -> str | None:
        """Why a step is pointless: a GPU is not visible, or copies to one of several GPUs already corrupt data."""
        hidden = [bdf for bdf in step.bdfs if bdf in self._hidden]
        if hidden:
            return f"{hidden[0]} is not visible {self.options.place}"
        wrong = [bdf for bdf in step.bdfs if self.gpus[bdf]["verdict"] == WRONG_DATA]
        return f"data copied to {wrong[0]} is corrupted" if wrong and (
            step.group or len(step.bdfs) > 1) else None

    def _take(self, step: Step, answer: Answer) -> None:
        record, read = self._form(step)
        if answer.kind == RESULT and answer.result.get("unavailable"):
            self._kernels = False
            reason = str(answer.result["unavailable"])[:_REASON_LIMIT]
            self.not_measured.append({"subject": "copies by a kernel", "reason": reason})
            return
        if answer.kind == RESULT:
            try:
                record = read(record, answer.result)
                left = sizes_left_out(step.subject, self.options.sizes, answer.result) if not (
                    step.group or record.get("split")) else None
                self.not_measured += [left] if left else []
            except (ValueError, KeyError, TypeError, AttributeError):
                record = judged(record, INCONCLUSIVE, NO_MEASUREMENT)
        elif answer.name == "CUDA_ERROR_INVALID_DEVICE" and len(step.bdfs) == 1:
            self._hidden.append(step.bdfs[0])
            self._leave_out(step, f"not visible {self.options.place}: {answer.message}")
            return
        elif answer.kind == ERROR:
            record = judged(record, INCONCLUSIVE, answer.message)
        elif answer.kind == HUNG or answer.abandoned is not None:
            record = judged(record, HANG, answer.message)
            self.hang(step.bdfs, answer)
        else:
            record = judged(record, INCONCLUSIVE, answer.message)
            self.stop(f"{step.subject}: {answer.message}")
        self._keep(step, record)

    def _form(self, step: Step) -> tuple[dict[str, Any], Callable[..., dict[str, Any]]]:
        """The empty record of a step, and the function that fills it from an answer."""
        if step.group:
            return step.group, group_record
        if len(step.bdfs) == 2:
            return empty_pair(*step.bdfs), pair_record
        return self.gpus[step.bdfs[0]], gpu_record

    def _keep(self, step: Step, record: dict[str, Any]) -> None:
        if step.group:
            self.groups.append(record)
        elif len(step.bdfs) == 2:
            self.pairs[step.bdfs] = record
        elif record.get("split"):
            self._hidden.append(step.bdfs[0])
            self._leave_out(step, SPLIT)
        else:
            self.gpus[step.bdfs[0]] = record

    def hang(self, bdfs: tuple[str, ...], answer: Answer) -> None:
        """Stop the measurement, and mark these GPUs as hung so that later changes leave them alone."""
        self.hung, self.abandoned = list(bdfs), answer.abandoned
        what = f"{' and '.join(bdfs)}: {answer.message}"
        try:
            mark_hung(self.host, bdfs, self.options.run_id, answer.message, answer.abandoned)
        except OSError as error:
            what += f"; it could not be recorded as hung: {error_text(error)}"
        self.stop(f"hang: {what}")

    def stop(self, reason: str | None) -> None:
        self.stopped = self.stopped or reason

    def _leave_out(self, step: Step, reason: str) -> None:
        if not step.group and len(step.bdfs) == 1 and self.gpus[step.bdfs[0]]["verdict"] is not None:
            return
        self.not_measured.append({"subject": step.subject, "reason": reason})

    def result(self) -> dict[str, Any]:
        """The result of the module."""
        return {"gpus": [gpu for gpu in self.gpus.values() if gpu["verdict"]], "pairs": list(self.pairs.values()),
                "concurrent": self.groups,
                "stopped": self.stopped, "hung": self.hung, "abandoned": self.abandoned,
                "not_measured": self.not_measured, "driver_version": self.driver_version, "tool": self.tool,
                "where": self.options.where, "sizes": self.options.sizes}
