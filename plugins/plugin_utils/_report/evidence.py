# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Report sections for what was measured on a host or is proposed for it, from the records in its folder."""
from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable
from typing import Any

from .._bandwidth import report
from .._benchmark import report as benchmark_report
from .._experiment import report as experiment_report
from .._placement import report as placement_report
from .._records import host_folder
from .._render.section import Section
from .._render.svg import packed, svg_file
from .._render.text import clean, escape, fenced, one_line, table

# Makes a section from the folder and the facts of a host, or None if there is no record of its kind.
Reader = Callable[[pathlib.Path, dict[str, Any]], Section | None]
READERS: dict[str, Reader] = {
    placement_report.HEADING: placement_report.read,
    report.HEADING: report.read,
    benchmark_report.HEADING: benchmark_report.read,
    experiment_report.HEADING: experiment_report.read,
}


def sections(folder: pathlib.Path, facts: dict[str, Any]) -> list[Section]:
    """All sections; an unusable record is reported and does not affect the others."""
    found = []
    for heading, reader in READERS.items():
        try:
            section = reader(folder, facts)
        except host_folder.RecordError as problem:
            section = Section(heading, [str(problem)], [], {})
        except (KeyError, TypeError, AttributeError, ValueError) as problem:
            section = Section(heading, [f"the record in {folder} was not written by this collection "
                                        f"({type(problem).__name__}: {problem}): measure again"], [], {})
        if section:
            found.append(section)
    return found


def write_drawings(folder: pathlib.Path, shown: Iterable[Section]) -> None:
    for section in shown:
        for name, drawing in section.drawings.items():
            host_folder.write_text(folder / name, svg_file(drawing))


def markdown(shown: Iterable[Section]) -> list[str]:
    """The lines of the sections for system-improve.md."""
    lines: list[str] = []
    for section in shown:
        lines += [f"## {escape(section.heading)}", ""]
        if section.notes:
            lines += [*(f"- {escape(note)}" for note in section.notes), ""]
        for name, drawing in section.drawings.items():
            lines += [f"![{escape(drawing.title)}]({name})", ""]
        for one in section.tables:
            lines += [f"{escape(one.caption)}:", "",
                      *table(map(escape, one.head), (map(escape, row) for row in one.rows)), ""]
        for block in section.blocks:
            lines += [f"{escape(block.caption)}:", "", *fenced(block.lines, block.language), ""]
    return lines


def for_page(shown: Iterable[Section]) -> list[dict[str, Any]]:
    """The sections as JSON for the fleet page: `{heading, notes, tables, drawings, blocks}`."""
    return [{
        "heading": one_line(section.heading), "notes": [one_line(note) for note in section.notes],
        "tables": [{"caption": one_line(one.caption), "head": [one_line(cell) for cell in one.head],
                    "rows": [[one_line(cell) for cell in row] for row in one.rows]} for one in section.tables],
        "drawings": [packed(drawing) for drawing in section.drawings.values()],
        "blocks": [[one_line(block.caption), "\n".join(map(clean, block.lines))] for block in section.blocks],
    } for section in shown]
