# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The results of a user's benchmark: on a terminal and as a section of the reports."""
from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from .._records import host_folder
from .._render.section import Section, Table
from .._render.text import clean, count, one_line
from .run import BENCHMARK, SCHEMA_BENCHMARK

HEADING = "Your own benchmark"
_HEAD = ("metric", "median", "range", "unit", "better", "runs")
_PLACES = {"host": "on the host", "controller": "on the controller"}


def read(folder: pathlib.Path, _facts: dict[str, Any]) -> Section | None:
    """The section for the newest benchmark of a host; None without one."""
    document = host_folder.read_document(folder / BENCHMARK, SCHEMA_BENCHMARK)
    return section(document) if document else None


def section(document: Mapping[str, Any]) -> Section:
    rows = _rows(document)
    return Section(f"{HEADING}: {one_line(document['name'])}", _notes(document),
                   [Table("The runs that count", list(_HEAD), rows)] if rows else [], {})


def _notes(document: Mapping[str, Any]) -> list[str]:
    where = one_line(_PLACES.get(document["where"], f"in {document['where']}"))
    notes = [f"Run {document['run_id']} of {document['measured_at'] or 'an unknown time'}, {where}: "
             f"{one_line(' '.join(document['argv']))}"]
    if document["stopped"]:
        notes.append(f"It did not finish: {one_line(document['stopped'])}")
    return notes + discarded(document)


def discarded(document: Mapping[str, Any]) -> list[str]:
    """A line for each measured run that was discarded."""
    return [f"run {run['number']} does not count: {one_line(run['discarded'])}" for run in document["runs"]
            if run["discarded"] and run["discarded"] != document["stopped"]]


def _rows(document: Mapping[str, Any]) -> list[list[str]]:
    found = []
    for metric in document["metrics"]:
        figures = document["summary"].get(metric["name"])
        if figures:
            found.append([metric["name"], number(figures["median"]),
                          f"{number(figures['low'])} to {number(figures['high'])}", metric["unit"] or "-",
                          metric["better"], str(figures["runs"])])
    return found


def number(value: float) -> str:
    """Five significant digits, more than the precision of any benchmark: `1234.5`, `0.012346`, `1234567`."""
    return f"{value:.0f}" if abs(value) >= 1e5 else f"{value:.5g}"


def terminal(document: Mapping[str, Any], path: str) -> str:
    """A short table, the discarded runs, and the path of the full record."""
    rows = [list(_HEAD), *_rows(document)]
    widths = [max(len(clean(row[column])) for row in rows) for column in range(len(_HEAD))]
    warm = sum(run["warm_up"] for run in document["runs"])
    lines = [one_line(f"{document['host']}: {document['name']}, {count(len(document['runs']) - warm, 'run')} and "
                      f"{warm} for warm-up")]
    if len(rows) > 1:
        lines += ["  " + "  ".join(clean(cell).ljust(width) for cell, width in zip(row, widths)).rstrip()
                  for row in rows]
    return "\n".join([*lines, *(f"  {line}" for line in discarded(document)), f"record: {path}"])
