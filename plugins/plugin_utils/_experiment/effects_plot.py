# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Plot the effects of an experiment: a point with its interval for each change and metric, and a line at zero."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .._render.svg import Drawing, Shape, circle, line, rect, text
from .._statistics.effect import HELPS, HURTS, INCONCLUSIVE

_LOOK = {HELPS: "good", HURTS: "bad"}
# Pixels: the start of the labels, the scale, the verdict and the numbers, and the height of a row.
_LABEL, _LEFT, _RIGHT, _VERDICT, _NUMBERS, _WIDTH, _ROW, _TOP = 12, 290, 590, 606, 750, 960, 22, 52
_LETTERS, _HEADING_LETTERS = 40, 60       # characters that fit beside the scale, and above it


def effects_drawing(document: dict[str, Any]) -> Drawing | None:
    """The plot of an experiment's document; None if no arm has an interval."""
    arms = [arm for arm in document["arms"] if arm["metrics"]]
    ends = [end for arm in arms for found in arm["metrics"].values() for end in (found["low"], found["high"])
            if end is not None]
    if not ends:
        return None
    scale = _Scale(min(*ends, 0), max(*ends, 0))
    shapes, y = [], _TOP
    better = {metric["name"]: metric["better"] for metric in document["metrics"]}
    for arm in arms:
        shapes.append(text(_LABEL, y + 15, _short(arm["name"], _HEADING_LETTERS), "heading"))
        y += _ROW
        for metric, found in arm["metrics"].items():
            shapes += _row(scale, y, _label(metric, better[metric]), found)
            y += _ROW
    return Drawing(f"Effects of the changes on {document['benchmark']}", _described(document, arms), _WIDTH, y + 16,
                   [*_frame(scale, y), *shapes])


class _Scale:
    """Maps percent to pixels, with round numbers for the ticks."""

    def __init__(self, low: float, high: float) -> None:
        room = max((high - low) * 0.04, 0.05)
        self.low, self.high = low - room, high + room
        self.step = _round_step((self.high - self.low) / 6)

    def x(self, percent: float) -> float:
        return _LEFT + (percent - self.low) / (self.high - self.low) * (_RIGHT - _LEFT)

    def ticks(self) -> Iterator[float]:
        for number in range(math.ceil(self.low / self.step), math.floor(self.high / self.step) + 1):
            yield number * self.step


def _round_step(least: float) -> float:
    """The smallest of 1, 2 or 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * 0.999)


def _frame(scale: _Scale, bottom: float) -> list[Shape]:
    shapes = [text(_LABEL, 18, "95 % intervals; percent of the value before the change", "quiet")]
    digits = max(0, -math.floor(math.log10(scale.step)))
    for tick in scale.ticks():
        shapes += [line(scale.x(tick), _TOP - 8, scale.x(tick), bottom, ""),
                   text(scale.x(tick), _TOP - 14, f"{tick + 0.0:+.{digits}f} %" if tick else "0", "quiet", "middle")]
    return [*shapes, line(scale.x(0), _TOP - 8, scale.x(0), bottom, "strong")]


def _row(scale: _Scale, y: float, label: str, found: dict[str, Any]) -> list[Shape]:
    look, middle = _LOOK.get(found["verdict"], "mild"), y + _ROW / 2
    words = look if look != "mild" else "quiet"
    shapes = [text(_LABEL + 8, middle + 4, label, "label"),
              text(_VERDICT, middle + 4, found["verdict"], words)]
    if found["low"] is None:
        return [*shapes, text(_NUMBERS, middle + 4, _missing(found), "quiet")]
    low, high = scale.x(found["low"]), scale.x(found["high"])
    shapes += [line(low, middle, high, middle, look), line(low, middle - 4, low, middle + 4, look),
               line(high, middle - 4, high, middle + 4, look)]
    hollow = found["verdict"] == INCONCLUSIVE
    point = scale.x(found["percent"])
    # Markers differ in shape as well as colour: a square is harmful, an empty circle inconclusive.
    shapes.append(rect(point - 4, middle - 4, 8, 8, "mark-bad") if found["verdict"] == HURTS
                  else circle(point, middle, 4.5, "hollow" if hollow else look))
    return [*shapes, text(_NUMBERS, middle + 4, span(found))]


def span(found: dict[str, Any]) -> str:
    """`+4.1 % (+3.2 to +5.0)`."""
    percent, low, high = (round(found[name], 1) + 0.0 for name in ("percent", "low", "high"))
    return f"{percent:+.1f} % ({low:+.1f} to {high:+.1f})"


def _missing(found: dict[str, Any]) -> str:
    return f"needs {found['more_runs']} more runs" if found["more_runs"] else "not measured"


def _described(document: dict[str, Any], arms: list[dict[str, Any]]) -> str:
    """A text description of the plot."""
    rows = [f"{arm['name']}, {metric}: {found['said']}" for arm in arms for metric, found in arm["metrics"].items()]
    return f"Run {document['run_id']}. " + ". ".join(rows) + "."


def _label(metric: str, better: str) -> str:
    which = f" ({better} is better)"
    return _short(metric, _LETTERS - len(which)) + which


def _short(words: str, letters: int) -> str:
    return words if len(words) <= letters else words[:letters - 3] + "..."
