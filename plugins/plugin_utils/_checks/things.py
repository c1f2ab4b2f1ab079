# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Things to do: findings that a single action resolves, in one or many places.

Findings are one thing if check, priority, wanted value, fix, reason for not being planned and waiver are equal apart
from the place. The found values may differ.
"""
from __future__ import annotations

import functools
import json
import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from .findings import PRIORITIES, to_do

# Names of places in texts and addresses: PCI devices, CPUs and their policies, nodes, interrupts, processes.
_PLACE = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|\b(?:policy|cpu|node|state|nvidia)[0-9]+\b"
                    r"|(?<=/irq/)[0-9]+|(?<=--pid )[0-9]+")
_GUESTS = ("lxc", "vm", "nic")


def things(findings: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """`findings` grouped into things; things and their places keep the order of the findings."""
    found: dict[Hashable, list[dict[str, Any]]] = {}
    for finding in findings:
        found.setdefault(likeness(finding), []).append(finding)
    return list(found.values())


def tally(findings: Iterable[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """`{things: {P0: 1, ...}, places: {P0: 256, ...}}` of what is left to do; a finding is one place of its thing."""
    counts = {name: dict.fromkeys(PRIORITIES, 0) for name in ("things", "places")}
    for members in things(to_do(findings)):
        priority = members[0]["priority"]
        counts["things"][priority] += 1
        counts["places"][priority] += len(members)
    return counts


def likeness(finding: Mapping[str, Any]) -> Hashable:
    """The key that the findings of one thing share."""
    fix, subject = finding["fix"], finding["subject"]
    change = fix["change"] or {"address": "", "value": None}
    return (finding["check"], finding["priority"], _plain(finding["recommended"]), fix["class"],
            without_place(change["address"], subject), _plain(change["value"]),
            tuple(dict.fromkeys(without_place(line, subject) for line in (fix["how"] or "").splitlines())),
            without_place(fix["not_planned_because"] or "", subject), _plain(finding["waived"]))


@functools.lru_cache(maxsize=4096)
def without_place(text: str, subject: str | None) -> str:
    """`text` with the names of `subject`, or of any place of that kind, replaced by a mark."""
    text = _PLACE.sub("?", text)
    kind, _colon, name = (subject or "").partition(":")
    # `lxc:101` is also called by its number alone.
    for word in (subject, name if kind in _GUESTS else None):
        if word:
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", "?", text)
    return text


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
