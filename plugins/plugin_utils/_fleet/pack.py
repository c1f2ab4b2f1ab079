# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Pack the fleet for the page's script: values shared by many hosts are stored once and referenced by number."""
from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Any

from .._checks.findings import PRIORITIES, VERDICTS
from .._render.text import clean_all
from .fleet import Fleet
from .row import GPU_COLUMNS

SHOWN_AUDITS = 10
# What would end the script element with the data, or start a comment in it; and two line terminators of old JavaScript.
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class Table:
    """Numbered values without duplicates."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = defaultdict(itertools.count().__next__)
        # A page numbers thousands of values of each host.
        self.number: Callable[[Hashable], int] = self._numbers.__getitem__

    def values(self) -> list[Any]:
        return list(self._numbers)


class _Packer:
    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.strings, self.rows, self.checks = Table(), Table(), Table()
        for check in fleet.checks:
            self.checks.number(check)
        self.names = {name: number for number, name in enumerate(fleet.hosts)}

    def texts(self, texts: Any) -> int:
        """The number of a row of texts."""
        return self.rows.number(tuple(map(self.strings.number, map(str, texts))))

    def entry(self, entry: list) -> int:
        check, verdict, priority, *texts, subjects = entry
        return self.rows.number((
            self.checks.number(check), VERDICTS.index(verdict), PRIORITIES.index(priority),
            *map(self.strings.number, texts), self.texts(subjects)))

    def host(self, name: str, row: dict[str, Any]) -> list[Any]:
        number = self.strings.number
        return [
            number(name), number(row["model"]), number(row["machine"]), number(row["at"]), number(row["profile"]),
            [number(note) for note in row["notes"]],
            self.texts(text for pair in row["traits"].items() for text in pair),
            [self.entry(entry) for entry in row["findings"]], [self.texts(gpu) for gpu in row["gpus"]],
            number(row["since"] or ""), [self._drift(one) for one in row["drift"]],
            [self._audit(audit) for audit in row["audits"][-SHOWN_AUDITS:]],
            [self._run(run) for run in row["runs"]],
            [self._evidence(section) for section in row["evidence"]],
        ]

    def _evidence(self, section: dict[str, Any]) -> list[Any]:
        """Pack a section; most hosts have the same shapes at the same positions, and each is stored once."""
        tables = [[self.strings.number(one["caption"]), self.texts(one["head"]),
                   [self.texts(row) for row in one["rows"]]] for one in section["tables"]]
        drawings = [[*(one[name] for name in ("title", "description", "width", "height")),
                     [self.texts(shape) for shape in one["shapes"]]] for one in section["drawings"]]
        return [section["heading"], section["notes"], tables, drawings, section["blocks"]]

    def _drift(self, one: dict[str, Any]) -> int:
        ends = [text for end in (one["was"], one["now"]) for text in (end or ("", ""))]
        return self.rows.number((self.checks.number(one["check"]),
                                 *(self.strings.number(text) for text in (one["subject"], *ends))))

    def _audit(self, audit: dict[str, Any]) -> list[Any]:
        # Audits of earlier releases are identified by their findings only; a step in the numbers makes it obvious.
        unit = "things" if "things" in audit else "findings"
        counts = audit["things" if "things" in audit else "failing"]
        return [*(self.strings.number(audit[name]) for name in ("run_id", "stage", "at", "profile", "said")),
                self.strings.number(unit if counts else ""),
                *(counts.get(priority, 0) for priority in PRIORITIES), audit["unknown"]]

    def _run(self, run: dict[str, Any]) -> list[Any]:
        return [self.strings.number(run["id"]), self.strings.number(run["state"]), run["outcomes"],
                [self.strings.number(text) for text in run["harm"]], [self.texts(change) for change in run["changes"]]]

    def outlier(self, one: dict[str, Any]) -> list[Any]:
        number = self.strings.number
        return [number(one["model"]), one["hosts"], number(one["what"]), number(one["kind"]), number(one["majority"]),
                one["having"], [[self.names[host], number(text)] for host, text in one["odd"].items()]]

    def pair(self, one: dict[str, Any]) -> list[Any]:
        """Pack a guest with its host: `[host, subject, guest, nodes outside, nodes inside, problem]`."""
        return [self.names[one["host"]], self.strings.number(one["subject"]), self.names[one["guest"]],
                one["outside"], one["inside"], self.strings.number(one["problem"])]


def pack(fleet: Fleet, made_at: str) -> dict[str, Any]:
    packer = _Packer(fleet)
    hosts = [packer.host(name, row) for name, row in fleet.hosts.items()]
    outliers = [packer.outlier(one) for one in fleet.outliers]
    checks = [[check, *_about(fleet.checks.get(check))] for check in packer.checks.values()]
    return clean_all({
        "made": made_at, "verdicts": VERDICTS, "priorities": PRIORITIES, "gpuColumns": GPU_COLUMNS, "checks": checks,
        "hosts": hosts, "outliers": outliers, "guests": [packer.pair(one) for one in fleet.guests],
        "problems": list(fleet.problems.items()), "rollout": fleet.rollout,
        "rows": packer.rows.values(), "strings": packer.strings.values(),
    })


def _about(about: dict[str, Any] | None) -> list[Any]:
    if about is None:
        return ["", "", "", "", "", []]
    return [about[name] for name in ("topic", "title", "why", "evidence", "contested", "sources")]


def to_script(data: dict[str, Any]) -> str:
    """JSON that is safe in a script element of an HTML page, whatever the host names: ASCII, and free of characters
    that HTML interprets."""
    text = json.dumps(data, separators=(",", ":"))
    for character, escaped in _UNSAFE.items():
        text = text.replace(character, escaped)
    return text
