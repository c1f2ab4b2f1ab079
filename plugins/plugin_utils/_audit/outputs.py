# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The machine-readable files of an audit next to audit.json, and its row for the fleet page."""
from __future__ import annotations

import pathlib
import time
from collections.abc import Iterable
from typing import Any

from .._fleet.row import fleet_row
from .._records import history as records_history
from .._records import host_folder
from .._records.json_lines import findings_lines
from .._render.section import Section
from .._report.groups import Groups
from .._report.junit import junit
from .._report.prometheus import prometheus

JUNIT, PROMETHEUS = "junit.xml", "gpuhost.prom"


def write_for_machines(folder: host_folder.HostFolder, document: dict[str, Any], run_id: str, stage: str,
                       shown: Iterable[Section] = (), groups: Groups | None = None) -> None:
    """Write the files. Each is replaced atomically and belongs to this host alone: audits may run in parallel."""
    path = folder.path
    groups = groups or Groups(document["findings"])
    host_folder.write_text(path / JUNIT, junit(document, run_id, groups))
    host_folder.write_text(path / PROMETHEUS, prometheus(document, run_id, time.time()))
    host_folder.write_text(path / host_folder.LINES, findings_lines(document, run_id))
    history = records_history.read(path / host_folder.HISTORY)
    host_folder.write_compact(path / host_folder.HISTORY, records_history.add(history, document, run_id, stage))
    write_row(path, document, shown, groups)


def note_verify(folder: host_folder.HostFolder, run_id: str | None, message: str) -> None:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    history = records_history.read(folder.path / host_folder.HISTORY)
    host_folder.write_compact(folder.path / host_folder.HISTORY, records_history.verified(history, run_id, at, message))


def write_row(path: pathlib.Path, document: dict[str, Any], shown: Iterable[Section] = (),
              groups: Groups | None = None) -> None:
    of = host_folder.identity(path / "audit.json")
    host_folder.write_compact(path / host_folder.ROW, {"of": of, "row": fleet_row(document, shown, groups)})


def write_outcome(folder: host_folder.HostFolder, run: dict[str, Any]) -> None:
    """outcome.json of a run: the outcome of every change of its plan, and the result of the health check."""
    planned_out = [change for change in run["planned"] if change["outcome"] == "skipped"]
    host_folder.write_json(folder.run(run["run_id"]) / host_folder.OUTCOME, {
        "schema": host_folder.SCHEMA_OUTCOME, "host": folder.path.name, "run_id": run["run_id"],
        "created_at": run["time"], "changes": run["changes"] + planned_out, "harm": run["harm"], "notes": run["notes"]})
