# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Changes on a host since the previous watch: new or fixed findings, settings, error rates."""
from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from .._checks.findings import value
from .._records import history as records_history
from .._report.sentences import name_of, sentence
from .counters import counters, retrained, slowed

SCHEMA = "gpuhost.watch/1"
FILE = "watch.json"
NEW, MENDED, OTHER = "new", "mended", "changed"
_AT = "%Y-%m-%dT%H:%M:%SZ"


def state(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the next watch needs of this audit; kept as watch.json next to it."""
    facts = document["facts"]
    return {"schema": SCHEMA, "at": document["collected_at"], "boot_id": document["boot_id"],
            "uptime": value(facts["kernel"].get("uptime_seconds")), "counters": counters(facts),
            "seen": records_history.snapshot(document["findings"])}


def changes(document: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """`{since, at, rebooted, changes, rates}`. Without a previous state there are no changes; `since` is null.

    `changes`: `{kind, check, name, priority, subjects, was, now, said}`, `was` and `now` as `[verdict, value]` or null.
    `rates`: `{what, place, number, hours}`; `hours` is null for momentary observations.
    """
    now = state(document)
    if before is None:
        return {"since": None, "at": now["at"], "rebooted": False, "changes": [], "rates": _seen(document["facts"])}
    rebooted = None not in (before["boot_id"], now["boot_id"]) and before["boot_id"] != now["boot_id"]
    return {"since": before["at"], "at": now["at"], "rebooted": rebooted,
            "changes": _findings(document, before["seen"], now["seen"]),
            "rates": [*_rates(before, now, rebooted), *_seen(document["facts"])]}


def _findings(document: Mapping[str, Any], was: Mapping[str, Any], now: Mapping[str, Any]) -> list[dict[str, Any]]:
    known = {(one["check"], one["subject"] or ""): one for one in document["findings"]}
    groups: dict[tuple, dict[str, Any]] = {}
    for one in records_history.drift(was, now):
        old, new = one["was"], one["now"]
        finding = known.get((one["check"], one["subject"]))
        kind = _kind(old, new, now[one["check"]].get(one["subject"]))
        if kind is None:
            continue
        about = finding or next(other for other in document["findings"] if other["check"] == one["check"])
        key = (one["check"], kind, str(old), str(new))
        group = groups.setdefault(key, {
            "kind": kind, "check": one["check"], "name": name_of(about), "priority": about["priority"], "subjects": [],
            "was": old, "now": new, "said": sentence(finding) if finding and kind == NEW else ""})
        if one["subject"]:
            group["subjects"].append(one["subject"])
    return sorted(groups.values(), key=lambda group: ((NEW, OTHER, MENDED).index(group["kind"]), group["priority"]))


def _kind(old: list | None, new: list | None, seen: list | None) -> str | None:
    """The kind of a change; None for mere fluctuation: a measured value of a finding that failed and still fails."""
    failed, fails = (end is not None and end[0] == "fail" for end in (old, new))
    if failed != fails:
        return NEW if fails else MENDED
    if old is not None and new is not None and old[0] == new[0]:
        return OTHER if seen is not None and seen[2] else None
    verdicts = {end[0] if end else None for end in (old, new)}
    # That a check applies now, or a device exists, is not in itself worth reporting.
    return OTHER if "unknown" in verdicts else None


def _rates(before: Mapping[str, Any], now: Mapping[str, Any], rebooted: bool) -> list[dict[str, Any]]:
    hours = _hours(before["at"], now["at"])
    if rebooted:        # counters restart at boot
        hours = min(hours, (now["uptime"] or hours * 3600) / 3600)
    found = []
    for kind, places in now["counters"].items():
        known = {} if rebooted else before["counters"].get(kind, {})
        for place, number in places.items():
            # A counter that was not read before, or was reset, says nothing about the time in between.
            more = number - (0 if rebooted else known.get(place, number))
            if more > 0:
                found.append({"what": kind, "place": place, "number": more, "hours": round(hours, 4)})
    return found


def _seen(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = [{"what": "slowed", "place": place, "number": 1, "hours": None, "reasons": reasons}
             for place, reasons in slowed(facts).items()]
    return found + [{"what": "link_changes", "place": place, "number": number, "hours": None, "looks": looks}
                    for place, (number, looks) in retrained(facts).items()]


def _hours(first: str, second: str) -> float:
    times = [datetime.datetime.strptime(text, _AT) for text in (first, second)]
    return max((times[1] - times[0]).total_seconds(), 1.0) / 3600
