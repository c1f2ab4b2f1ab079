# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The user's benchmark: validate `gpuhost_benchmark` against its schema and make it ready to run."""
from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from .._checks.user_yaml import read_own, validate
from .metrics import Metric, Output, check_expression, check_metric

VARIABLE = "gpuhost_benchmark"
SCHEMA = "benchmark.schema.json"
HOST, CONTROLLER = "host", "controller"
STREAMS = ("stdout", "stderr")
_CONTAINER = "lxc:"

TIMEOUT = 600.0             # seconds
REPETITIONS, WARM_UP = 5, 1
READY_EVERY, READY_TIMEOUT = 2.0, 600.0
# Throttle reasons for heat and power supply, as nvidia-smi names them.
THROTTLE = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")


class Limits(NamedTuple):
    """A run outside these limits does not count. None: no limit."""

    temperature_c: float | None     # of the hottest GPU, before and after
    load1: float | None             # before
    throttle: tuple[str, ...]       # reasons that no GPU may have afterwards
    users: tuple[str, ...] | None   # commands that may use a GPU; None: those that do before the run


class Restart(NamedTuple):
    """How to restart the user's server, and how to tell that it answers again."""

    argv: list[str]
    where: str
    timeout: float
    ready: list[str] | None
    ready_every: float
    ready_timeout: float

    def module_arguments(self) -> dict[str, Any]:
        return {**_place(self.where), "argv": self.argv, "timeout": self.timeout, "conditions": False}

    def ready_arguments(self) -> dict[str, Any]:
        return {**_place(self.where), "argv": self.ready, "timeout": min(self.ready_timeout, 60.0),
                "conditions": False}


class Benchmark(NamedTuple):
    """One benchmark; times in seconds."""

    name: str
    argv: list[str]
    where: str                      # host, controller or lxc:<id>
    chdir: str | None
    environment: dict[str, str]
    timeout: float
    repetitions: int
    warm_up: int
    settle_seconds: float
    output: str                     # stdout, stderr or a path
    records: str                    # last or all
    valid: str | None               # an expression over the same JSON that must be true
    metrics: list[Metric]
    restart: Restart | None
    starts_workload: bool           # whether each run starts the workload itself, not only a load on it
    limits: Limits

    def module_arguments(self) -> dict[str, Any]:
        """The arguments of the module `workload` for one run."""
        arguments: dict[str, Any] = {**_place(self.where), "argv": self.argv, "timeout": self.timeout,
                                     "environment": self.environment}
        if self.chdir is not None:
            arguments["chdir"] = self.chdir
        if self.output not in STREAMS:
            arguments["output_file"] = os.path.join(self.chdir or "", self.output)
        return arguments

    def values(self, output: Mapping[str, Any]) -> dict[str, float]:
        """The values of one run by metric; raises MetricError. `output` is `{stdout, stderr, file, cut}`."""
        stream = self.output if self.output in STREAMS else "file"
        message = Output(output.get(stream) or "", self.output, every=self.records == "all",
                         cut=stream in (output.get("cut") or ()))
        if self.valid is not None:
            message.require(self.valid)
        return message.values(self.metrics)

    def described(self) -> str:
        """`1 run to warm up and 5 that count of "vllm bench serve" in lxc:101, at most 600 s each`."""
        warm = {0: "", 1: "1 warm-up run and "}.get(self.warm_up, f"{self.warm_up} warm-up runs and ")
        place = {HOST: "on the host", CONTROLLER: "on the controller"}.get(self.where, f"in {self.where}")
        many = "1 run that counts" if self.repetitions == 1 else f"{self.repetitions} that count"
        return f"{warm}{many} of {self.name!r} {place}, at most {self.timeout:g} s each"


def _place(where: str) -> dict[str, Any]:
    return {"container": where[len(_CONTAINER):]} if where.startswith(_CONTAINER) else {}


def load_benchmark(given: Any) -> Benchmark:
    """Load the user's definition: a mapping, or the path of a YAML file, relative to the working directory."""
    if not isinstance(given, str):
        return parse_benchmark(given)
    path = pathlib.Path(os.path.abspath(os.path.expanduser(given)))
    return _benchmark(read_own(path, SCHEMA), given)


def parse_benchmark(mapping: Any) -> Benchmark:
    """Parse a definition; ValueError with one message that names the key, what is expected and what was found."""
    validate(mapping, SCHEMA, VARIABLE)
    return _benchmark(mapping, VARIABLE)


def _benchmark(given: Mapping[str, Any], origin: str) -> Benchmark:
    where, restart = given.get("where", HOST), _restart(given.get("restart"), given.get("where", HOST))
    benchmark = Benchmark(
        name=given["name"], argv=given["command"], where=where, chdir=given.get("chdir"),
        environment=dict(given.get("environment", {})), timeout=float(given.get("timeout", TIMEOUT)),
        repetitions=given.get("repetitions", REPETITIONS), warm_up=given.get("warm_up", WARM_UP),
        settle_seconds=float(given.get("settle_seconds", 0)), output=given.get("output", "stdout"),
        records=given.get("records", "last"), valid=check_expression(given.get("valid"), f"{origin}: valid"),
        metrics=[check_metric(Metric(name, metric["better"], metric.get("unit", ""), metric.get("json"),
                                     metric.get("pattern")), origin)
                 for name, metric in given["metrics"].items()],
        restart=restart, starts_workload=given.get("starts_workload", where != CONTROLLER and restart is None),
        limits=_limits(given.get("limits", {})))
    _check_paths(benchmark, origin)
    return benchmark


def _check_paths(benchmark: Benchmark, origin: str) -> None:
    """Paths on a host must be absolute: there is no defined directory for relative ones."""
    if benchmark.where == CONTROLLER:
        return
    if benchmark.chdir is not None and not os.path.isabs(benchmark.chdir):
        raise ValueError(f"{origin}: chdir: {benchmark.chdir!r} is not absolute: on a host or in a container it must "
                         "begin with /")
    if benchmark.output not in STREAMS and not os.path.isabs(os.path.join(benchmark.chdir or "", benchmark.output)):
        raise ValueError(f"{origin}: output: {benchmark.output!r} is not stdout, stderr or an absolute path: use an "
                         "absolute path, or set chdir")


def _restart(given: Mapping[str, Any] | None, where: str) -> Restart | None:
    """Where to restart the server: on the host by default, also for a load generator on the controller."""
    if given is None:
        return None
    ready = given.get("ready") or {}
    return Restart(given["command"], given.get("where", HOST if where == CONTROLLER else where),
                   float(given.get("timeout", TIMEOUT)), ready.get("command"),
                   float(ready.get("every", READY_EVERY)), float(ready.get("timeout", READY_TIMEOUT)))


def _limits(given: Mapping[str, Any]) -> Limits:
    users = given.get("users")
    return Limits(given.get("temperature_c", 85.0), given.get("load1"), tuple(given.get("throttle", THROTTLE)),
                  None if users is None else tuple(users))
