# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""last-run.json: how the last audit of each host of a play ended, for pipelines.

Ansible exits with 2 both for a host beyond a limit and for a failed audit; this file distinguishes them. Plays that run
at the same time, such as slices of one job, are reported together.
"""
from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import pathlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._records import host_folder, modes

LAST_RUN, RUNS = "last-run.json", ".last-runs"
SCHEMA = "gpuhost.last-run/1"
OK, FINDINGS, FAILED, UNREACHABLE, NOT_AUDITED = "ok", "findings", "failed", "unreachable", "not audited"
# AWX and automation controller set these to the same value for every slice of a job.
_JOBS = ("awx_workflow_job_id", "tower_workflow_job_id")
_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]")
_KEPT_SECONDS = 86400
_TIME = "%Y-%m-%dT%H:%M:%SZ"


def this_run(variables: Mapping[str, Any] | None = None) -> str:
    """The identity of a run: the AWX job, otherwise the ansible-playbook that is this worker's parent."""
    for name in _JOBS:
        if variables and variables.get(name):
            return f"awx-{variables[name]}"
    parent = os.getppid()
    try:
        return f"{parent}-{os.stat(f'/proc/{parent}').st_ctime_ns}"
    except OSError:
        return str(parent)


def began() -> str:
    """The start time of this worker's ansible-playbook; the current time if it cannot be determined."""
    seconds = 0.0
    with contextlib.suppress(OSError, ValueError, IndexError):
        # Field 22 of proc_pid_stat(5), counted from after the name, which is the second: ticks since boot.
        fields = pathlib.Path(f"/proc/{os.getppid()}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        up = float(pathlib.Path("/proc/uptime").read_text(encoding="ascii").split()[0])
        seconds = max(0.0, up - int(fields[19]) / os.sysconf("SC_CLK_TCK"))
    started = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)
    return started.strftime(_TIME)


def note(report_dir: str, run: str, hosts: Sequence[str], host: str, state: str, at: str, begun: str) -> None:
    """Record how the audit of `host` ended. A new `run` starts a new file, with what other runs have recorded since it
    was `begun`.

    Any number of workers, on any number of controllers that share the folder, may do this at once. Raises RecordError.
    """
    folder = pathlib.Path(os.path.abspath(os.path.expanduser(report_dir)))
    try:
        modes.make_folder(folder / RUNS)
        with open(folder / f".{LAST_RUN}.lock", "a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            path = folder / RUNS / f"{_NO_FILE_NAME.sub('_', run)}.json"
            ours = _read(path) or {"schema": SCHEMA, "run": run, "began": begun, "hosts": {}}
            ours["hosts"] = {**dict.fromkeys(hosts, NOT_AUDITED), **ours["hosts"], host: state}
            ours["at"] = max(at, ours.get("at", at))
            host_folder.write_compact(path, ours)
            others = {name: end for other in _others(folder / RUNS, path, ours) for name, end in other["hosts"].items()}
            host_folder.write_json(folder / LAST_RUN, {
                "schema": SCHEMA, "run": run, "hosts": {**others, **ours["hosts"]}, "at": ours["at"]})
    except OSError as error:
        raise host_folder.RecordError(f"cannot write {folder / LAST_RUN}: {error.strerror}") from error


def states(report_dir: str, run: str) -> dict[str, str]:
    """The results of a run by host; empty if nothing is known."""
    folder = pathlib.Path(os.path.abspath(os.path.expanduser(report_dir))) / RUNS
    document = _read(folder / f"{_NO_FILE_NAME.sub('_', run)}.json")
    return document["hosts"] if document else {}


def _others(folder: pathlib.Path, path: pathlib.Path, ours: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The runs that overlapped with this one; records older than a day are removed."""
    for other in sorted(folder.glob("*.json")):
        if other == path:
            continue
        with contextlib.suppress(FileNotFoundError):
            if time.time() - other.stat().st_mtime > _KEPT_SECONDS:
                other.unlink()
                continue
            document = _read(other)
            if document and document["at"] > ours["began"]:
                yield document


def _read(path: pathlib.Path) -> dict[str, Any] | None:
    """The record of a run; None if it has none yet."""
    try:
        document = host_folder.read_json(path)
        whole = isinstance(document["hosts"], dict) and isinstance(document["began"], str)
        return document if whole and isinstance(document["at"], str) else None
    except (host_folder.RecordError, KeyError, TypeError):
        return None
