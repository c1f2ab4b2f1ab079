# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Allow one rollout at a time per report folder: whether another one is under way, on this controller or another."""
from __future__ import annotations

import contextlib
import datetime
import fcntl
import platform
from collections.abc import Iterator, Sequence

from .._records import host_folder, modes
from .._render.text import count
from . import rollout as rollout_state

# A rollout of another machine has ended after this much silence: a batch records each host before and after.
SILENT_SECONDS = 1800
_LOOKED_AT = 20     # newest records to check; older rollouts have ended


@contextlib.contextmanager
def alone(report_dir: str, hosts: Sequence[str], now: datetime.datetime) -> Iterator[None]:
    """Allow recording a rollout over `hosts` within the block.

    RecordError: another rollout is under way that shares a host with it, or both are over several hosts.
    """
    folder = host_folder.RunsFolder(report_dir, rollout_state.FOLDER).path
    try:
        modes.make_folder(folder)
        with open(folder / ".lock", "a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _require(report_dir, hosts, now)
            yield
    except OSError as error:
        raise host_folder.RecordError(f"cannot write in {folder}: {error.strerror}") from error


def _require(report_dir: str, hosts: Sequence[str], now: datetime.datetime) -> None:
    for other in _recorded(report_dir):
        theirs = other.document["hosts"]
        common = sorted(set(theirs) & set(hosts))
        if (common or min(len(theirs), len(hosts)) > 1) and under_way(other, now):
            process = other.document["process"]
            raise host_folder.RecordError(
                f"nothing was changed: the rollout {other.run_id} over {count(len(theirs), 'host')} is under way, "
                f"begun {other.document['started_at']} on {process['node']} (process {process['id']}), and a rollout "
                "is one job: in AWX its slice count is 1. Wait for its end. If it was killed, it counts as ended "
                f"{SILENT_SECONDS // 60} minutes after its last word, or when {other.folder} is removed")


def _recorded(report_dir: str) -> Iterator[rollout_state.Rollout]:
    runs = host_folder.RunsFolder(report_dir, rollout_state.FOLDER)
    for run_id in sorted(runs.runs(), reverse=True)[:_LOOKED_AT]:
        with contextlib.suppress(host_folder.RecordError, KeyError, TypeError):
            rollout = rollout_state.load(runs.run(run_id))
            if not rollout.document["check"] and rollout.document["hosts"]:
                yield rollout


def under_way(rollout: rollout_state.Rollout, now: datetime.datetime) -> bool:
    """Whether it is running, as far as known: on this machine by its process, on another by its last record."""
    document = rollout.document
    process = document.get("process")
    if document["ended_at"] or document["stopped"] or process is None:
        return False
    if process["node"] == platform.node() and process["born"] is not None:
        return rollout.runs
    return (now.timestamp() - _last_word(rollout)) < SILENT_SECONDS


def _last_word(rollout: rollout_state.Rollout) -> float:
    """When the last record was or will be written: before a soak time, its end is recorded."""
    times = [0.0]
    for path in (rollout.folder / "rollout.json", *(rollout.folder / "hosts").glob("*.json")):
        with contextlib.suppress(OSError):
            times.append(path.stat().st_mtime)
    return max(*times, float(rollout.document.get("soaks_until") or 0))
