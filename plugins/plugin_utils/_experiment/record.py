# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""experiment.json: the comparisons and runs, their results, and whether the experiment was completed."""
from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...module_utils._redaction.words import redact_words
from .._benchmark.definition import Benchmark
from .._benchmark.run import BENCHMARK
from .._records import modes
from .._records.host_folder import HostFolder, RecordError, read_json, write_json
from .._render.text import clean, count, one_line
from .._statistics.blocks import complete_blocks
from .._statistics.effect import HELPS, HURTS, INCONCLUSIVE, NOTHING, effect, together
from .plan import Arm
from .toggles import LEAVE_ONE_OUT, PLAN, Excluded

SCHEMA = "gpuhost.experiment/1"
EXPERIMENT = "experiment.json"
LOCK = ".experiment.lock"
# The verdict on several metrics together: the worst one known.
_ORDER = (HURTS, HELPS, INCONCLUSIVE, NOTHING)


def begin(host: str, run_id: str, benchmark: Benchmark, arms: Sequence[Arm], left_out: Sequence[Excluded],
          **more: Any) -> dict[str, Any]:
    """The document of an experiment that has not run yet; `more` has further fields."""
    return {
        "schema": SCHEMA, "host": host, "run_id": run_id, "benchmark": benchmark.name, **more,
        "metrics": [{"name": metric.name, "better": metric.better, "unit": metric.unit}
                    for metric in benchmark.metrics],
        "arms": [{"name": arm.name, "toggles": [address for toggle in arm.toggles for address in toggle.addresses],
                  "checks": list(dict.fromkeys(check for toggle in arm.toggles for check, _subject in toggle.checks)),
                  "values": _values(arm), "metrics": {}} for arm in arms],
        "left_out": [one._asdict() for one in left_out], "runs": [], "discarded": 0, "drift": [], "state": {},
        "ended": None,
    }


def _values(arm: Arm) -> dict[str, dict[str, Any]]:
    values: dict[str, dict[str, Any]] = {}
    for toggle in arm.toggles:
        for kind, named in toggle.values.items():
            values.setdefault(kind, {}).update(named)
    return values


def evaluate(document: dict[str, Any], matters: float) -> None:
    """Record the effect of every arm on every metric, from complete blocks. All effects are tested together, and
    decisions use only those that are significant among all of them."""
    document["discarded"] = sum(run["discarded"] is not None for run in document["runs"])
    places = [(arm, metric) for arm in document["arms"] for metric in document["metrics"]]
    found = [effect(complete_blocks(document["runs"], arm["name"], metric["name"]), metric["better"], matters,
                    len(places)) for arm, metric in places]
    for arm in document["arms"]:
        arm["metrics"] = {}
    for (arm, metric), one in zip(places, together(found)):
        arm["metrics"][metric["name"]] = one


def overall(arm: Mapping[str, Any]) -> str:
    """One verdict from those of all metrics: a harmful effect takes precedence over a helpful one."""
    verdicts = {found["verdict"] for found in arm["metrics"].values()}
    return next((verdict for verdict in _ORDER if verdict in verdicts), INCONCLUSIVE)


def helpful(document: Mapping[str, Any]) -> frozenset[str]:
    """The names of the arms that help at least one metric and hurt none."""
    return frozenset(arm["name"] for arm in document["arms"] if overall(arm) == HELPS)


def measured_entries(document: Mapping[str, Any], arms: Sequence[Arm]) -> list[dict[str, Any]]:
    """The measurements that the audit shows at the findings that the toggles address."""
    entries = []
    for arm, found in zip(arms, document["arms"]):
        message = "; ".join(f"{name}: {one['said']}" for name, one in found["metrics"].items())
        message = f"{document['benchmark']}: {message}{_company(document, arm)}"
        checks = dict.fromkeys(entry for toggle in arm.toggles for entry in toggle.checks)
        entries += [{"check": check, "subject": subject, "verdict": overall(found), "said": message}
                    for check, subject in checks]
    return entries


def _company(document: Mapping[str, Any], arm: Arm) -> str:
    others = (len(arm.toggles) if document["mode"] == PLAN else len(arm.before) + 1) - 1
    return f" (with {count(others, 'other')})" if others and document["mode"] in (PLAN, LEAVE_ONE_OUT) else ""


def result_lines(document: Mapping[str, Any]) -> list[str]:
    """A line for each arm and metric, followed by remarks."""
    rows = [(arm["name"], name, found["said"]) for arm in document["arms"] for name, found in arm["metrics"].items()]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    lines = [f"  {arm:<{widths[0]}}  {metric:<{widths[1]}}  {message}" for arm, metric, message in rows]
    lines += [f"  not compared: {one['address']}: {one['reason']}" for one in document["left_out"]]
    reasons = [run["discarded"] for run in document["runs"] if run["discarded"] is not None]
    if reasons:
        lines.append(f"  {count(len(reasons), 'run')} did not count: {'; '.join(dict.fromkeys(reasons))}")
    lines += [f"  {one['address']} was {one['before']} and is {one['after']}: the kernel recalculates it with a "
              "change, and it is not written back" for one in document["drift"]]
    return [clean(line.replace("\n", " ")) for line in lines]


# -- on the controller ------------------------------------------------------------------------------------------------

def write(folder: HostFolder, document: Mapping[str, Any], newest: bool) -> pathlib.Path:
    """Write the record to its run, and as the newest of the host if `newest`."""
    path = folder.run(document["run_id"]) / EXPERIMENT
    write_json(path, document)
    if newest:
        write_json(folder.path / EXPERIMENT, document)
    return path


def cut_short(folder: HostFolder, boot_id: str | None,
              left_behind: Callable[[str], Mapping[str, Mapping[str, Any]]]) -> str | None:
    """What an experiment of this boot that was cut short left changed, None if nothing.

    `left_behind` returns the values that restore what a run changed, from the journal of the host.
    """
    earlier = unfinished(folder, boot_id)
    if earlier is None:
        return None
    run_id = earlier["run_id"]
    # If we changed a value of an earlier run, the journal keeps our entry after we set that value again.
    left = [f"{kind}:{name}" for kind, named in left_behind(run_id).items() for name, value in named.items()
            if value["set"] != value.get("only_from")]
    if not left:
        return None
    return f"experiment {run_id} of {earlier['measured_at']} did not come to an end, and it had set "\
           f"{', '.join(left)}. Bring that back: ansible-playbook playbooks/restore.yml -e gpuhost_run_id={run_id}"


def unfinished(folder: HostFolder, boot_id: str | None) -> dict[str, Any] | None:
    """The last experiment of a host if it was cut short in this boot, otherwise None."""
    path = folder.path / EXPERIMENT
    if not path.exists():
        return None
    document = read_json(path)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise RecordError(f"{path} is not the record of an experiment: move it away")
    return document if document["ended"] is None and document["boot_id"] == boot_id else None


def earlier_runs(folder: HostFolder, benchmark: Benchmark) -> list[dict[str, Any]]:
    """The valid runs of the same benchmark on this host, from its last record; empty without one."""
    try:
        document = read_json(folder.path / BENCHMARK)
    except RecordError:
        return []
    if not isinstance(document, dict) or (document.get("name"), document.get("argv")) != (
            benchmark.name, redact_words(benchmark.argv)):
        return []
    return [run for run in document["runs"] if run["discarded"] is None]


def seconds_a_run(folder: HostFolder, benchmark: Benchmark) -> float | None:
    """The longest duration of valid runs of this benchmark on this host; None if unknown."""
    return max((run["seconds"] for run in earlier_runs(folder, benchmark) if run["seconds"]), default=None)


@contextlib.contextmanager
def hold(path: pathlib.Path, run_id: str, wait: bool = False) -> Iterator[None]:
    """Hold a lock on the controller, or report who holds it. The kernel releases it if its holder is killed."""
    try:
        modes.make_folder(path.parent)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, modes.of_file(path))
    except OSError as error:
        raise RecordError(f"cannot write {path}: {error.strerror}. "
                          "Choose another directory with gpuhost_report_dir") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            holder = one_line(os.pread(handle, 200, 0).decode(errors="replace"))
            raise RecordError(f"an experiment on this host is in progress: {holder}. Wait for it, or end it with "
                              "Ctrl-C where it was started") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"run {run_id}, process {os.getpid()}".encode(), 0)
        yield
    finally:
        os.close(handle)
