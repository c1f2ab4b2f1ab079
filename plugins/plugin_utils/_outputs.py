# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What an audit leaves beside audit.json for machines, and for the page of the fleet."""
from __future__ import annotations

import pathlib
import time
from collections.abc import Iterable
from typing import Any

from . import _history, _record
from ._fleet_row import fleet_row
from ._json_lines import findings_lines
from ._junit import junit
from ._prometheus import prometheus
from ._section import Section

JUNIT, PROMETHEUS, LINES = "junit.xml", "gpuhost.prom", "findings.jsonl"
HISTORY, ROW, OUTCOME = "history.json", "fleet.json", "outcome.json"


def write_for_machines(folder: _record.HostFolder, document: dict[str, Any], run_id: str, stage: str,
                       shown: Iterable[Section] = ()) -> None:
    """Each file appears as a whole, and each is this host's alone: any number of hosts may be audited at once."""
    path = folder.path
    _record.write_text(path / JUNIT, junit(document, run_id))
    _record.write_text(path / PROMETHEUS, prometheus(document, run_id, time.time()))
    _record.write_text(path / LINES, findings_lines(document, run_id))
    history = _history.read(path / HISTORY)
    _record.write_compact(path / HISTORY, _history.add(history, document, run_id, stage))
    write_row(path, document, shown)


def note_verify(folder: _record.HostFolder, run_id: str | None, said: str) -> None:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    history = _history.read(folder.path / HISTORY)
    _record.write_compact(folder.path / HISTORY, _history.verified(history, run_id, at, said))


def write_row(path: pathlib.Path, document: dict[str, Any], shown: Iterable[Section] = ()) -> None:
    _record.write_compact(path / ROW, {"of": _record.identity(path / "audit.json"), "row": fleet_row(document, shown)})


def write_outcome(folder: _record.HostFolder, run: dict[str, Any]) -> None:
    """outcome.json of a run: what became of every change of its plan, and what the guard saw."""
    planned_out = [change for change in run["planned"] if change["outcome"] == "skipped"]
    _record.write_json(folder.run(run["run_id"]) / OUTCOME, {
        "schema": _record.SCHEMA_OUTCOME, "host": folder.path.name, "run_id": run["run_id"], "created_at": run["time"],
        "changes": run["changes"] + planned_out, "harm": run["harm"], "notes": run["notes"]})
