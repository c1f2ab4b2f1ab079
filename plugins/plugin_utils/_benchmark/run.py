# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Single runs of a benchmark: execute one, keep its output, apply the limits, and summarize all runs."""
from __future__ import annotations

import pathlib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...module_utils._redaction.words import find_secrets, redact_output, redact_words
from .._records.host_folder import write_json, write_text
from .definition import Benchmark
from .limits import outside
from .metrics import Metric, MetricError

# Takes the arguments of the module `workload` and returns its answer.
Execute = Callable[[dict[str, Any]], Mapping[str, Any]]
SCHEMA_BENCHMARK = "gpuhost.benchmark/1"
BENCHMARK = "benchmark.json"
RAW = "raw"


class RunFailed(ValueError):
    """A run that cannot count. `run` is its entry in the record."""

    def __init__(self, message: str, run: dict[str, Any]) -> None:
        super().__init__(message)
        run["discarded"] = message
        self.run = run


def measure_once(execute: Execute, benchmark: Benchmark, number: int, folder: pathlib.Path, *,
                 warm_up: bool = False) -> dict[str, Any]:
    """Make one run and return it in the form of the record; its output is kept below `folder`, that of the run ID.

    A run outside the limits has the reason in `discarded`. RunFailed: the command failed, was killed or hung, a metric
    is missing, or the host was rebooted meanwhile.
    """
    if benchmark.settle_seconds:
        time.sleep(benchmark.settle_seconds)
    result = execute(benchmark.module_arguments())
    secrets = find_secrets(benchmark.argv)
    run = {"number": number, "warm_up": warm_up, "started": result.get("started"), "seconds": result.get("seconds"),
           "rc": result.get("rc"), "values": {}, "conditions": result.get("conditions"), "discarded": None,
           "raw": _keep_raw(folder, number, result, secrets)}
    named = f"run {number} of {benchmark.name!r}"
    if result.get("failed") or result.get("skipped"):
        raise RunFailed(redact_output(f"{named}: {result.get('msg') or 'it failed without a message'}", secrets), run)
    if None not in (boots := (_boot(run, "before"), _boot(run, "after"))) and boots[0] != boots[1]:
        raise RunFailed(f"{named}: the host was rebooted during the run: run it again", run)
    try:
        run["values"] = benchmark.values(result)
    except MetricError as error:
        message = redact_output(f"{named}: {error} (all of it: {folder.name}/{run['raw']})", secrets)
        raise RunFailed(message, run) from None
    run["discarded"] = outside(benchmark.limits, run["conditions"] or {}, result.get("left_running") or [])
    return run


def restart(execute: Execute, benchmark: Benchmark, folder: pathlib.Path, number: int) -> None:
    """Restart the user's server with the configured command and wait until it answers; RunFailed if it does not."""
    wanted = benchmark.restart
    if wanted is None:
        raise ValueError(f"the benchmark {benchmark.name!r} has no restart command for its server: set restart")
    _ask(execute, wanted.module_arguments(), f"the restart before run {number}", folder, f"{number:03d}.restart")
    if wanted.ready is None:
        return
    end = time.monotonic() + wanted.ready_timeout
    while True:
        try:
            _ask(execute, wanted.ready_arguments(), "the server", folder, f"{number:03d}.ready")
            return
        except RunFailed as error:
            if time.monotonic() >= end:
                raise RunFailed(f"the server was not ready {wanted.ready_timeout:g} s after its restart before run "
                                f"{number}: {error}", error.run) from None
        time.sleep(wanted.ready_every)


def _ask(execute: Execute, arguments: dict[str, Any], named: str, folder: pathlib.Path, raw: str) -> None:
    result = execute(arguments)
    secrets = find_secrets(arguments["argv"])
    printed = f"{result.get('stdout') or ''}{result.get('stderr') or ''}"
    write_text(folder / RAW / raw, redact_output(printed, secrets))
    if result.get("failed") or result.get("skipped"):
        raise RunFailed(redact_output(f"{named}: {result.get('msg') or 'failed without a message'}", secrets),
                        {"rc": result.get("rc"), "raw": f"{RAW}/{raw}"})


def _keep_raw(folder: pathlib.Path, number: int, result: Mapping[str, Any], secrets: Sequence[str]) -> str | None:
    """The path of the output, without secrets, relative to the folder of the run; None if there was none."""
    if result.get("stdout") is None:
        return None
    for stream in ("stdout", "stderr", "file"):
        if result.get(stream) is not None:
            write_text(folder / RAW / f"{number:03d}.{stream}", redact_output(result[stream], secrets))
    return f"{RAW}/{number:03d}.stdout"


def _boot(run: Mapping[str, Any], when: str) -> str | None:
    return ((run["conditions"] or {}).get(when) or {}).get("boot_id")


def same_boot(runs: Sequence[Mapping[str, Any]]) -> str | None:
    """The message for a reboot of the host between two of the runs, None if there was none."""
    known = [(run["number"], _boot(run, "before")) for run in runs if _boot(run, "before")]
    for (earlier, before), (later, after) in zip(known, known[1:]):
        if before != after:
            return (f"the host was rebooted between run {earlier} and run {later}: the runs before and after cannot "
                    "be compared, run it again")
    return None


# -- the record -------------------------------------------------------------------------------------------------------

def summary(runs: Sequence[Mapping[str, Any]], metrics: Sequence[Metric]) -> dict[str, dict[str, Any]]:
    """`{metric: {median, low, high, runs}}` over the runs that count."""
    counted = [run for run in runs if not run["warm_up"] and run["discarded"] is None]
    found = {}
    for metric in metrics:
        values = [run["values"][metric.name] for run in counted]
        if values:
            found[metric.name] = {"median": statistics.median(values), "low": min(values), "high": max(values),
                                  "runs": len(values)}
    return found


def document(host: str, run_id: str, benchmark: Benchmark, runs: Sequence[Mapping[str, Any]],
             stopped: str | None) -> dict[str, Any]:
    """benchmark.json: all runs, including discarded ones. `stopped` says why there are fewer than requested."""
    first = runs[0] if runs else None
    return {
        "schema": SCHEMA_BENCHMARK, "host": host, "run_id": run_id,
        "boot_id": _boot(first, "before") if first else None, "measured_at": first["started"] if first else None,
        "name": benchmark.name, "argv": redact_words(benchmark.argv), "where": benchmark.where,
        "metrics": [{"name": metric.name, "better": metric.better, "unit": metric.unit}
                    for metric in benchmark.metrics],
        "runs": list(runs), "summary": summary(runs, benchmark.metrics), "stopped": stopped,
    }


def write_run(folder: pathlib.Path, document: Mapping[str, Any]) -> None:
    """Write the record to its run; `folder` is that of the host."""
    write_json(folder / document["run_id"] / BENCHMARK, document)


def write_newest(folder: pathlib.Path, document: Mapping[str, Any]) -> None:
    """Make the record the host's newest, which reports show."""
    write_json(folder / BENCHMARK, document)
