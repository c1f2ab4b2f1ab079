# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""bandwidth.svg: heat maps of the copy rates between GPUs; of two records, the older one is drawn on the left."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .._render.svg import Drawing, Shape, rect, text
from .record import HARMFUL, HEALTHY, SLOW

HOST = "host"
_CELL, _ROW, _LABEL, _TOP, _GAP, _EDGE = 58, 26, 106, 62, 36, 14
_NARROWEST = 390           # pixels: width of the heading of a matrix for one GPU
_HEATS = 5
_LEGEND = "GB/s: darker blue is faster. Framed: slow, or faulty (!). Grey: not measured."


class Cell(NamedTuple):
    """`gb_s` is None if nothing was measured; `verdict` is that of the GPU or pair."""

    gb_s: float | None
    verdict: str


Grid = Mapping[tuple[str, str], Cell]


class Panel(NamedTuple):
    """One matrix with a row and a column for each GPU; `corner` labels the axes."""

    title: str
    corner: str
    names: Sequence[str]
    cells: Grid


def bandwidth_drawing(records: Sequence[Mapping[str, Any]]) -> Drawing | None:
    """Draw one or two `records`, the older first; None if there is nothing to draw."""
    names = list(dict.fromkeys(gpu["bdf"] for record in records for gpu in record["gpus"]))
    if not names:
        return None
    lines = [[Panel(_title("Copies and writes", record, records), "from \\ to", [HOST, *names], _writes(record))
              for record in records]]
    if any(pair["read"] for record in records for pair in record["pairs"]):
        lines.append([Panel(_title("Reads", record, records), "by \\ from", names, _reads(record))
                      for record in records])
    most = max((cell.gb_s for line in lines for panel in line for cell in panel.cells.values() if cell.gb_s), default=0)
    shapes: list[Shape] = []
    y, width = _EDGE, 0.0
    for line in lines:
        x = float(_EDGE)
        for panel in line:
            shapes += _panel(panel, x, y, most)
            x += max(_NARROWEST, _LABEL + _CELL * len(panel.names)) + _GAP
        width = max(width, x - _GAP + _EDGE)
        y += _TOP + _ROW * len(line[0].names) + _GAP
    shapes.append(text(_EDGE, y, _LEGEND, "quiet"))
    # The legend is wider than matrices for one GPU.
    return Drawing(f"Bandwidth of {records[-1]['host']}", _describe(records), max(width, 560.0), y + _EDGE, shapes)


def _title(words: str, record: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> str:
    when = f"{record['measured_at']}, {record['where']}"
    return f"{words}, {when}" if len(records) == 1 else (
        f"{words}, {'before' if record is records[0] else 'after'}: {when}")


def _writes(record: Mapping[str, Any]) -> Grid:
    cells = {}
    for gpu in record["gpus"]:
        for direction, place in (("h2d", (HOST, gpu["bdf"])), ("d2h", (gpu["bdf"], HOST))):
            cells[place] = _cell(gpu[direction], gpu["verdict"], gpu[direction] and gpu[direction]["expected_gb_s"],
                                 record["slow_below_percent"])
    for pair in record["pairs"]:
        cells[pair["from"], pair["to"]] = _cell(pair["write"], pair["verdict"], pair["expected_gb_s"],
                                                record["slow_below_percent"])
    return cells


def _reads(record: Mapping[str, Any]) -> Grid:
    return {(pair["from"], pair["to"]): _cell(pair["read"], pair["verdict"], pair["expected_gb_s"],
                                              record["slow_below_percent"]) for pair in record["pairs"]}


def _cell(figures: Mapping[str, Any] | None, verdict: str, expected: float | None, percent: float) -> Cell:
    """The cell of one direction: a slow GPU or pair gets a frame only in the direction that is slow."""
    gb_s = figures["gb_s"] if figures else None
    if verdict == SLOW and not (gb_s is not None and expected is not None and gb_s < expected * percent / 100):
        verdict = HEALTHY
    return Cell(gb_s, verdict)


def _panel(panel: Panel, x: float, y: float, most: float) -> list[Shape]:
    shapes = [text(x, y + 14, panel.title, "heading"), text(x, y + 34, panel.corner, "quiet")]
    for column, name in enumerate(panel.names):
        middle = x + _LABEL + _CELL * (column + 0.5)
        shapes += [text(middle, y + 40 + 14 * part, words, "label", "middle")
                   for part, words in enumerate(_short(name))]
    for row, source in enumerate(panel.names):
        top = y + _TOP + _ROW * row
        shapes.append(text(x + _LABEL - 8, top + 17, source, "label", "end"))
        for column, target in enumerate(panel.names):
            shapes += _box(panel.cells.get((source, target)), source == target, x + _LABEL + _CELL * column, top, most)
    return shapes


def _short(name: str) -> tuple[str, ...]:
    """An address split into two lines, as columns are narrower than an address."""
    domain, colon, rest = name.partition(":")
    return (f"{domain}:", rest) if colon else ("", name)


def _box(cell: Cell | None, same: bool, x: float, y: float, most: float) -> list[Shape]:
    place = (x + 1, y + 1, _CELL - 2, _ROW - 2)
    if same:
        return [rect(*place, "none")]
    if cell is None or (cell.gb_s is None and cell.verdict not in HARMFUL):
        return [rect(*place, "none"), text(x + _CELL / 2, y + 17, "-", "quiet", "middle")]
    words = "" if cell.gb_s is None else f"{cell.gb_s:.1f}"
    if cell.verdict in (*HARMFUL, SLOW):
        words = f"{words}!" if words and cell.verdict != SLOW else words or cell.verdict.split("_", maxsplit=1)[0]
        return [rect(*place, "bad"), text(x + _CELL / 2, y + 17, words, "bad", "middle")]
    heat = 1 + min(_HEATS - 1, int(_HEATS * cell.gb_s / most)) if most else 1
    return [rect(*place, f"heat{heat}"), text(x + _CELL / 2, y + 17, words, "", "middle")]


def _describe(records: Sequence[Mapping[str, Any]]) -> str:
    newest = records[-1]
    figures = [pair[way]["gb_s"] for pair in newest["pairs"] for way in ("write", "read") if pair[way]]
    copies = [gpu[way]["gb_s"] for gpu in newest["gpus"] for way in ("h2d", "d2h") if gpu[way]]
    parts = [f"{what} from {min(found):.1f} to {max(found):.1f} GB/s" for what, found in (
        ("copies to and from the host", copies), ("transfers between GPUs", figures)) if found]
    return f"{'; '.join(parts) or 'no figures'}. All values are in the tables."
