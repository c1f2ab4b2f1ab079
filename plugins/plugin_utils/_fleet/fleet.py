# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""All hosts below a report folder: their records, the results of their runs, and hosts that differ from the others."""
from __future__ import annotations

import os
import pathlib
from collections import Counter
from typing import Any, NamedTuple

from .._records import history as records_history
from .._records import host_folder
from .._render.text import clean, one_line, show
from .._report import evidence
from .._rollout import gate
from .._rollout import rollout as rollout_state
from .guests import joined
from .outliers import outliers
from .row import SCHEMA_FLEET, about_checks, fleet_row
from .table import how_it_ended

SHOWN_RUNS = 5
# Runs that only measured have folders too; they are shown as such.
MEASURED = ("bandwidth.json", "benchmark.json", "experiment.json")


class Fleet(NamedTuple):
    """`hosts`: rows by name, each with `history` and `runs`. `checks`: the description of each check. `problems`:
    records that could not be used, by host. `rollout`: the last one's end and the states of hosts; None without one."""

    hosts: dict[str, dict[str, Any]]
    checks: dict[str, dict[str, Any]]
    outliers: list[dict[str, Any]]
    problems: dict[str, str]
    rollout: dict[str, Any] | None = None
    guests: tuple[dict[str, Any], ...] = ()     # those that are also hosts, as joined() of guests.py returns them


def collect(report_dir: str) -> Fleet:
    """The fleet from its records; a broken record becomes a problem to show, not an error."""
    hosts: dict[str, dict[str, Any]] = {}
    checks: dict[str, dict[str, Any]] = {}
    problems: dict[str, str] = {}
    for name in audited(report_dir):
        folder = host_folder.HostFolder(report_dir, name)
        try:
            row = _row(folder.path)
            unknown_checks = {entry[0] for entry in row["findings"]} - checks.keys()
            if unknown_checks:
                checks.update(about_checks(host_folder.read_json(folder.path / "audit.json")))
        except (host_folder.RecordError, OSError, KeyError, TypeError, AttributeError, ValueError) as problem:
            ours = isinstance(problem, host_folder.RecordError)
            problems[name] = clean(problem if ours else "its audit.json was not written by this collection "
                                                        f"({type(problem).__name__}: {problem})")
            continue
        history = records_history.read(folder.path / host_folder.HISTORY)
        hosts[name] = row | {"since": history["since"], "drift": history["drift"], "audits": history["audits"],
                             "runs": runs(folder)}
    return Fleet(hosts, checks, outliers(hosts), problems, _last_rollout(report_dir), tuple(joined(hosts)))


def _last_rollout(report_dir: str) -> dict[str, Any] | None:
    """`{run_id, ended, hosts: [[host, batch, state, reasons]]}` of the last rollout over several hosts.

    An interrupted rollout is included: its record says which step it was in.
    """
    for rollout in rollout_state.newest(report_dir):
        try:
            states = gate.decide(rollout, set(rollout.document["hosts"]))
            batches = {host: str(number) for number, batch in enumerate(rollout.batches, 1) for host in batch}
            return {"run_id": rollout.run_id, "ended": one_line(how_it_ended(rollout)), "hosts": [
                [host, batches.get(host, "-"), entry["state"].replace("_", " "), one_line("; ".join(entry["reasons"]))]
                for host, entry in states.items()]}
        except (host_folder.RecordError, KeyError, TypeError):
            continue
    return None


def audited(report_dir: str) -> list[str]:
    """The names of the hosts with an audit.json."""
    path = pathlib.Path(os.path.abspath(os.path.expanduser(report_dir)))
    try:
        names = os.listdir(path)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise host_folder.RecordError(f"cannot read {path}: {error.strerror}") from error
    return sorted(name for name in names if (path / name / "audit.json").is_file())


def _row(path: pathlib.Path) -> dict[str, Any]:
    """The row written with audit.json; a new one if that is missing or belongs to another audit."""
    try:
        kept = host_folder.read_json(path / host_folder.ROW)
        if kept["of"] == host_folder.identity(path / "audit.json") and kept["row"]["schema"] == SCHEMA_FLEET:
            return kept["row"]
    except (host_folder.RecordError, KeyError, TypeError):
        pass
    document = host_folder.read_json(path / "audit.json")
    return fleet_row(document, evidence.sections(path, document["facts"]))


def runs(folder: host_folder.HostFolder) -> list[dict[str, Any]]:
    """The last runs that were meant to change something, newest first; the newest one with all its changes."""
    found = []
    tunes = [run_id for run_id in folder.runs() if not any((folder.run(run_id) / name).exists() for name in MEASURED)]
    for run_id in reversed(tunes[-SHOWN_RUNS:]):
        try:
            run = _run(folder.run(run_id), run_id)
        except (host_folder.RecordError, KeyError, TypeError, AttributeError):
            run = {"id": run_id, "state": "unreadable", "outcomes": {}, "harm": [], "changes": []}
        if found:
            run["changes"] = []
        found.append(run)
    return found


def _run(path: pathlib.Path, run_id: str) -> dict[str, Any]:
    finished = (path / host_folder.OUTCOME).exists()
    record = host_folder.read_json(path / (host_folder.OUTCOME if finished else "before.json"))
    changes = [_change(change) for change in record["changes"]]
    harm = [f"{one['device']}: {one['what']}" for one in record["harm"]] if finished else []
    return {"id": run_id, "state": "finished" if finished else "not finished", "changes": changes, "harm": harm,
            "outcomes": dict(Counter(change[4] for change in changes))}


def _change(change: dict[str, Any]) -> list[str]:
    """Address, previous value, wanted value, current value, outcome and reason, as texts."""
    return [clean(change["address"]), *(show(change[name]) for name in ("before", "wanted", "after")),
            change["outcome"].replace("_", " "), one_line(change.get("reason") or "")]
