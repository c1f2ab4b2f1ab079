# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""A part of a report that both system-improve.md and the page of the fleet show."""
from __future__ import annotations

from typing import NamedTuple

from .svg import Drawing


class Table(NamedTuple):
    """Plain texts; whoever shows them escapes them."""

    caption: str
    head: list[str]
    rows: list[list[str]]


class Block(NamedTuple):
    """Lines to paste as they are: `language` is sh for commands, text for lines of a file."""

    caption: str
    language: str
    lines: list[str]


class Section(NamedTuple):
    """One part of a report: plain texts, drawings by the name of the file that each is in beside the report, and lines
    to paste."""

    heading: str
    notes: list[str]
    tables: list[Table]
    drawings: dict[str, Drawing]
    blocks: tuple[Block, ...] = ()
