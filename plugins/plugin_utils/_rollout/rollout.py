# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The record of one rollout on the controller: which batches there were, and the outcome of every host.

`<report_dir>/.rollouts/<run id>/rollout.json` is written by one task at a time; `hosts/<inventory_hostname>.json`
beside it by whoever works on that host, before and after everything that may fail. So a host that is in a batch and
has no file was not reached, and one that was being changed when everything stopped still says so.
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
CHANGING = "changing"           # changes are under way; found afterwards: it was left in the middle of them
REFUSED = "refused"             # a planned change was refused, or the host was left alone
HARMED, RESTORED = "harmed", "restored"     # a device is worse off than before; the run on it was taken back
FAILED, UNREACHABLE = "failed", "unreachable"
UNGATED = "ungated"             # it was in a batch, and nothing is known about it
DRIFTED = "drifted"             # rechecked, it is no longer as it was left
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
        """Whether the ansible-playbook that began it is still there, as far as this machine can tell."""
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
        """What is on record about every host of the rollout; `waiting` for one whose batch has not come."""
        reached = set(self.reached)
        return {host: self.entry(host) or {"state": UNGATED if host in reached else WAITING, "reasons": []}
                for host in self.document["hosts"]}

    def entry(self, host: str) -> dict[str, Any] | None:
        """What was recorded about one host."""
        return _read(self.folder, host)


def folder_of(report_dir: str, run_id: str) -> pathlib.Path:
    # The folder of a host that cannot be called so: HostFolder checks names, and this one is ours alone.
    return host_folder.RunsFolder(report_dir, FOLDER).path / host_folder.check_run_id(run_id)


def start(report_dir: str, run_id: str, hosts: list[str], check: bool) -> Rollout:
    """A new rollout; what an earlier one of the same id left is put away."""
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
    """The rollouts over several hosts, the last one first; a record that cannot be read is left out."""
    rollouts = host_folder.RunsFolder(report_dir, FOLDER)
    for run_id in reversed(rollouts.runs()):
        try:
            rollout = load(rollouts.run(run_id))
            if len(rollout.document["hosts"]) > 1:
                yield rollout
        except (host_folder.RecordError, KeyError, TypeError):
            continue


def states_of(report_dir: str, run_id: str) -> dict[str, str]:
    """The state of each host of the rollout of that id; empty where there is none."""
    folder = folder_of(report_dir, run_id)
    if not (folder / "rollout.json").exists():
        return {}
    return {host: entry["state"] for host, entry in load(folder).states().items()}


def note(report_dir: str, run_id: str, host: str, state: str, **more: Any) -> None:
    """Record the state of a host, if a rollout of that id is under way; what was known of it stays beside it."""
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
    """A process, told from a later one of the same number by when it was born, in ticks since the boot."""
    try:
        # Field 22 of proc_pid_stat(5), counted from behind the name, which is the second.
        born = int(pathlib.Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
    except (OSError, ValueError):
        born = None
    return {"node": platform.node(), "id": number, "born": born}


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
