# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The record of one rollout on the controller: its batches, and the outcome of every host.

`<report_dir>/.rollouts/<run id>/rollout.json` is written by one task at a time; `hosts/<inventory_hostname>.json` next
to it by the worker of that host, before and after everything that may fail. So a host of a batch without a file was not
reached, and one that was being changed when everything stopped is still recorded as such.
"""
from __future__ import annotations

import datetime
import os
import pathlib
import platform
import shutil
from collections.abc import Iterator
from typing import Any, NamedTuple

from .._records import host_folder

FOLDER = ".rollouts"
SCHEMA = "gpuhost.rollout/1"

# States of a host. The first four are fine.
CHANGED, UNCHANGED, WOULD_CHANGE, WAITING = "changed", "unchanged", "would_change", "waiting"
CHANGING = "changing"           # changes are under way; if found afterwards, they were interrupted
REFUSED = "refused"             # a planned change was refused, or the host was skipped
HARMED, RESTORED = "harmed", "restored"     # a device is worse than before; the run on it was undone
FAILED, UNREACHABLE = "failed", "unreachable"
UNGATED = "ungated"             # it was in a batch, but its state is unknown
DRIFTED = "drifted"             # rechecked, and its values are no longer those of the run
DONE = frozenset({CHANGED, UNCHANGED, WOULD_CHANGE})
FINE = DONE | {WAITING}


class Rollout(NamedTuple):
    folder: pathlib.Path
    document: dict[str, Any]

    @property
    def run_id(self) -> str:
        return self.document["run_id"]

    @property
    def batches(self) -> list[list[str]]:
        return [batch["hosts"] for batch in self.document["batches"]]

    @property
    def reached(self) -> list[str]:
        return [host for batch in self.batches for host in batch]

    @property
    def is_last(self) -> bool:
        return len(self.reached) >= len(self.document["hosts"])

    def records_of(self, host: str) -> host_folder.HostFolder:
        return host_folder.HostFolder(str(self.folder.parents[1]), host)

    @property
    def runs(self) -> bool:
        """Whether the ansible-playbook that started it is still running, as far as this machine can tell."""
        process = self.document.get("process")
        return process is not None and process["born"] is not None and process == _process(process["id"])

    def tell(self) -> None:
        """Record that its table was shown."""
        self.document["told_at"] = now()
        self.save()

    def save(self) -> None:
        host_folder.write_json(self.folder / "rollout.json", self.document)

    def note(self, host: str, state: str, reasons: list[str]) -> None:
        _note(self.folder, host, state, reasons=reasons)

    def states(self) -> dict[str, dict[str, Any]]:
        """The recorded state of every host of the rollout; `waiting` if its batch has not started."""
        reached = set(self.reached)
        return {host: self.entry(host) or {"state": UNGATED if host in reached else WAITING, "reasons": []}
                for host in self.document["hosts"]}

    def entry(self, host: str) -> dict[str, Any] | None:
        """The recorded entry of one host."""
        return _read(self.folder, host)


def folder_of(report_dir: str, run_id: str) -> pathlib.Path:
    # No host can have this folder: HostFolder checks names, and this one is reserved.
    return host_folder.RunsFolder(report_dir, FOLDER).path / host_folder.check_run_id(run_id)


def start(report_dir: str, run_id: str, hosts: list[str], check: bool) -> Rollout:
    """Start a new rollout; the record of an earlier one with the same ID is moved away."""
    folder = folder_of(report_dir, run_id)
    shutil.rmtree(folder, ignore_errors=True)
    document = {"schema": SCHEMA, "run_id": run_id, "started_at": now(), "check": check, "hosts": hosts, "batches": [],
                "looked": {}, "stopped": None, "ended_at": None, "told_at": None,
                "process": _process(os.getppid())}      # a task runs in a child of ansible-playbook
    rollout = Rollout(folder, document)
    rollout.save()
    return rollout


def load(folder: str | pathlib.Path) -> Rollout:
    path = pathlib.Path(folder)
    return Rollout(path, host_folder.read_json(path / "rollout.json"))


def newest(report_dir: str) -> Iterator[Rollout]:
    """The rollouts over several hosts, newest first; records that cannot be read are left out."""
    rollouts = host_folder.RunsFolder(report_dir, FOLDER)
    for run_id in reversed(rollouts.runs()):
        try:
            rollout = load(rollouts.run(run_id))
            if len(rollout.document["hosts"]) > 1:
                yield rollout
        except (host_folder.RecordError, KeyError, TypeError):
            continue


def states_of(report_dir: str, run_id: str) -> dict[str, str]:
    """The state of each host of the rollout with that ID; empty if there is none."""
    folder = folder_of(report_dir, run_id)
    if not (folder / "rollout.json").exists():
        return {}
    return {host: entry["state"] for host, entry in load(folder).states().items()}


def note(report_dir: str, run_id: str, host: str, state: str, **more: Any) -> None:
    """Record the state of a host if a rollout with that ID is under way; other fields of its entry are kept."""
    folder = folder_of(report_dir, run_id)
    if (folder / "rollout.json").exists():
        _note(folder, host, state, **more)


def _note(folder: pathlib.Path, host: str, state: str, **more: Any) -> None:
    known = _read(folder, host) or {}
    entry = {**known, **more, "host": host, "state": state, "at": now()}
    host_folder.write_json(folder / "hosts" / f"{host}.json", entry)


def _read(folder: pathlib.Path, host: str) -> dict[str, Any] | None:
    path = folder / "hosts" / f"{host}.json"
    return host_folder.read_json(path) if path.exists() else None


def _process(number: int) -> dict[str, Any]:
    """A process: its number and start time in ticks since boot, which tells it from a later one of the same number."""
    try:
        # Field 22 of proc_pid_stat(5), counted from after the name, which is the second.
        born = int(pathlib.Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
    except (OSError, ValueError):
        born = None
    return {"node": platform.node(), "id": number, "born": born}


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
