# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""findings.csv and facts.csv: tables for a spreadsheet, for one host or for all hosts together."""
from __future__ import annotations

import contextlib
import csv
import io
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from .._compare.leaves import THERE, Unread, leaves
from .._compare.rules import plain_rules
from .._records import host_folder
from .._render.text import one_line, show
from .._report.sentences import name_of, sentence

Rows: TypeAlias = list[list[str]]
FINDINGS, FACTS = "findings.csv", "facts.csv"
_FINDINGS = ("host", "collected_at", "check", "name", "subject", "topic", "priority", "verdict", "actual",
             "recommended", "said", "effect", "fix", "planned", "waived")
_FACTS = ("host", "collected_at", "fact", "of", "status", "value")
# Prefixes that make a spreadsheet read a formula; texts of a host may begin with anything.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_tables(folder: pathlib.Path, document: Mapping[str, Any]) -> None:
    """Write both tables of one audit next to it."""
    _write(folder, [(list(_findings(document)), list(_facts(document)))])


def merge_tables(folder: pathlib.Path, hosts: Iterable[str]) -> None:
    """Write both tables of all hosts below the report folder, from their audits."""
    _write(folder, (rows for host in hosts for rows in _rows(folder / host / "audit.json")))


def _rows(path: pathlib.Path) -> Iterator[tuple[Rows, Rows]]:
    """The rows of one audit; none if it cannot be read, which the fleet page reports."""
    with contextlib.suppress(host_folder.RecordError, KeyError, TypeError, AttributeError):
        document = host_folder.read_json(path)
        yield list(_findings(document)), list(_facts(document))


def _write(folder: pathlib.Path, tables: Iterable[tuple[Rows, Rows]]) -> None:
    """Write row by row: the facts of a thousand hosts do not fit into a controller's memory."""
    with _table(folder / FINDINGS, _FINDINGS) as findings, _table(folder / FACTS, _FACTS) as facts:
        for of_findings, of_facts in tables:
            findings.writerows(of_findings)
            facts.writerows(of_facts)


@contextlib.contextmanager
def _table(path: pathlib.Path, head: tuple[str, ...]) -> Iterator[Any]:
    with host_folder.replacing(path) as stream, io.TextIOWrapper(stream, encoding="utf-8", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(head)
        yield writer


def _findings(document: Mapping[str, Any]) -> Iterator[list[str]]:
    for one in document["findings"]:
        effect = one.get("effect") or {}
        yield [_cell(text) for text in (
            document["host"], document["collected_at"], one["check"], name_of(one), one["subject"] or "", one["topic"],
            one["priority"], one["verdict"], _value(one["actual"]), _value(one["recommended"]), sentence(one),
            effect.get("size") or "", one["fix"]["class"], _value(one["fix"]["planned"]), _value(bool(one["waived"])))]


def _facts(document: Mapping[str, Any]) -> Iterator[list[str]]:
    for leaf, found in leaves(document["facts"], plain_rules()).items():
        if found == THERE:
            continue
        unread = isinstance(found, Unread)
        yield [_cell(text) for text in (
            document["host"], document["collected_at"], leaf.fact, " ".join(leaf.entity),
            found.status if unread else "ok", "" if unread else _value(found))]


def _value(value: Any) -> str:
    return "" if value is None else show(value)


def _cell(text: str) -> str:
    """One line that a spreadsheet shows literally: a potential formula is prefixed with an apostrophe."""
    line = one_line(text)
    if not line.startswith(_FORMULA) or line == "-":
        return line
    try:
        float(line)
    except ValueError:
        return f"'{line}"
    return line
