# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""A part of a report that both system-improve.md and the fleet page show."""
from __future__ import annotations

from typing import NamedTuple

from .svg import Drawing


class Table(NamedTuple):
    """A table of plain text; the renderer escapes it."""

    caption: str
    head: list[str]
    rows: list[list[str]]


class Block(NamedTuple):
    """Lines to paste verbatim: `language` is sh for commands, text for lines of a file."""

    caption: str
    language: str
    lines: list[str]


class Section(NamedTuple):
    """One part of a report: plain text, drawings by the name of their file next to the report, and lines to paste."""

    heading: str
    notes: list[str]
    tables: list[Table]
    drawings: dict[str, Drawing]
    blocks: tuple[Block, ...] = ()
