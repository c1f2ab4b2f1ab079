# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Drawings of a few plain shapes, as standalone SVG 1.1 files and as data for the fleet page.

Colours are classes of fleet_page/drawing.css, which supports light and dark mode: a shape names its meaning, not its
look. The page creates the same elements from packed(), so that no markup from a host is parsed there either.
"""
from __future__ import annotations

import pathlib
import re
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from .text import one_line

# Read once in ansible-playbook, not in each worker.
STYLE = re.sub(r"/\*.*?\*/\s*", "", (pathlib.Path(__file__).parents[1] / "fleet_page" / "drawing.css").read_text(
    encoding="utf-8"), flags=re.DOTALL)
# Characters that XML 1.0 cannot hold in any form, and marks of direction.
_FORBIDDEN = dict.fromkeys((*range(0xd800, 0xe000), 0xfffe, 0xffff, *range(0x202a, 0x202f), *range(0x2066, 0x206a)),
                           "?")
Number = float


class Shape(NamedTuple):
    """An element without children: `rect`, `line`, `circle` or `text`. `look` is its class."""

    name: str
    attributes: dict[str, str]
    look: str
    words: str = ""


class Drawing(NamedTuple):
    """A drawing. Width and height are in the drawing's own pixels; the description is the text alternative for readers
    who cannot see it."""

    title: str
    description: str
    width: Number
    height: Number
    shapes: list[Shape]


def rect(x: Number, y: Number, width: Number, height: Number, look: str) -> Shape:
    return Shape("rect", _numbers(x=x, y=y, width=width, height=height), look)


def line(x1: Number, y1: Number, x2: Number, y2: Number, look: str) -> Shape:
    return Shape("line", _numbers(x1=x1, y1=y1, x2=x2, y2=y2), look)


def circle(cx: Number, cy: Number, r: Number, look: str) -> Shape:
    return Shape("circle", _numbers(cx=cx, cy=cy, r=r), look)


def text(x: Number, y: Number, words: object, look: str = "", anchor: str = "start") -> Shape:
    """`words` on one line with its baseline at `y`; `anchor` is start, middle or end."""
    return Shape("text", {**_numbers(x=x, y=y), "text-anchor": anchor}, look, _safe(words))


def svg_file(drawing: Drawing) -> str:
    """The drawing as a self-contained file."""
    lines = [f"<{shape.name}{_attributes(shape.attributes)}"
             f"{_attributes({'class': shape.look}) if shape.look else ''}"
             f"{f'>{escape(shape.words)}</{shape.name}>' if shape.name == 'text' else '/>'}"
             for shape in drawing.shapes]
    box = {"xmlns": "http://www.w3.org/2000/svg", "class": "drawing", "role": "img", "width": f"{drawing.width:g}",
           "height": f"{drawing.height:g}", "viewBox": f"0 0 {drawing.width:g} {drawing.height:g}"}
    return "\n".join([
        f"<svg{_attributes(box)}>", f"<title>{escape(_safe(drawing.title))}</title>",
        f"<desc>{escape(_safe(drawing.description))}</desc>", f"<style>{escape(STYLE)}</style>",
        f"<rect{_attributes({'class': 'ground', 'width': '100%', 'height': '100%'})}/>", *lines, "</svg>", ""])


def packed(drawing: Drawing) -> dict[str, Any]:
    """The drawing as JSON: a shape is a list of strings, `[name, look, words, attribute, value, ...]`."""
    return {"title": _safe(drawing.title), "description": _safe(drawing.description),
            "width": f"{drawing.width:g}", "height": f"{drawing.height:g}",
            "shapes": [[shape.name, shape.look, shape.words,
                        *(part for pair in shape.attributes.items() for part in pair)] for shape in drawing.shapes]}


def _numbers(**numbers: Number) -> dict[str, str]:
    # Two decimals are finer than the eye sees; more would only enlarge the files.
    return {name: f"{round(number, 2):g}" for name, number in numbers.items()}


def _safe(words: object) -> str:
    return one_line(words).translate(_FORBIDDEN)


def _attributes(attributes: dict[str, str]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
