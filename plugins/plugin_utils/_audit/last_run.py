# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""last-run.json: how the last audit of each host of a play ended, for pipelines.

Ansible ends with 2 for a host that is worse than a limit and for one whose audit broke. Here the two are told apart.
"""
from __future__ import annotations

import fcntl
import os
import pathlib
from collections.abc import Sequence
from typing import Any

from .._records import host_folder, modes

LAST_RUN = "last-run.json"
SCHEMA = "gpuhost.last-run/1"
OK, FINDINGS, FAILED, UNREACHABLE, NOT_AUDITED = "ok", "findings", "failed", "unreachable", "not audited"


def this_run() -> str:
    """What tells one ansible-playbook from another: a worker's parent and, where that is known, its start."""
    parent = os.getppid()
    try:
        return f"{parent}-{os.stat(f'/proc/{parent}').st_ctime_ns}"
    except OSError:
        return str(parent)


def note(report_dir: str, run: str, hosts: Sequence[str], host: str, state: str, at: str) -> None:
    """Put down how the audit of `host` ended. The first host of a `run` begins the file anew.

    Any number of workers may do so at once. Raises RecordError.
    """
    folder = pathlib.Path(os.path.abspath(os.path.expanduser(report_dir)))
    try:
        modes.make_folder(folder)
        with open(folder / f".{LAST_RUN}.lock", "a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            document = _read(folder / LAST_RUN, run) or {"schema": SCHEMA, "run": run, "hosts": {}}
            document["hosts"] = {**dict.fromkeys(hosts, NOT_AUDITED), **document["hosts"], host: state}
            host_folder.write_json(folder / LAST_RUN, {**document, "at": at})
    except OSError as error:
        raise host_folder.RecordError(f"cannot write {folder / LAST_RUN}: {error.strerror}") from error


def states(report_dir: str) -> dict[str, str]:
    """How the audits of the last play ended, by host; empty where nothing is known."""
    path = pathlib.Path(os.path.abspath(os.path.expanduser(report_dir))) / LAST_RUN
    document = _read(path, this_run())
    return document["hosts"] if document else {}


def _read(path: pathlib.Path, run: str) -> dict[str, Any] | None:
    """The file of this run, None where there is none or it is another run's."""
    try:
        document = host_folder.read_json(path)
        return document if document["run"] == run and isinstance(document["hosts"], dict) else None
    except (host_folder.RecordError, KeyError, TypeError):
        return None
