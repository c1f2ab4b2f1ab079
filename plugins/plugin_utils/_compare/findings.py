# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Findings that differ between two hosts and matter: failures on one of them, or on both with different values."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .._checks.order import ordered
from .._render.text import show

# A verdict without a result.
UNKNOWN = "unknown"


class Pair(NamedTuple):
    """The findings of one check about one subject on both hosts, None if a host has no such subject."""

    check: str
    subject: str | None
    here: dict[str, Any] | None
    there: dict[str, Any] | None

    @property
    def worst(self) -> dict[str, Any]:
        """The finding that failed, otherwise the one that exists."""
        sides = [side for side in (self.here, self.there) if side is not None]
        return next((side for side in sides if side["verdict"] == "fail"), sides[0])

    @property
    def both_fail(self) -> bool:
        return all(side is not None and side["verdict"] == "fail" for side in (self.here, self.there))


class FindingDifferences(NamedTuple):
    """`differing` in the order in which to fix them. `unknown`: pairs that could not be judged on one host.
    `not_judged`: checks that only one of the audits included."""

    differing: list[Pair]
    unknown: list[Pair]
    not_judged: list[str]


def differences(here: Iterable[dict[str, Any]], there: Iterable[dict[str, Any]]) -> FindingDifferences:
    """The differences; `there` already has the names of the first host. If both fail with different values, the facts
    behind them decide whether that is a difference: values that always vary are ignored."""
    first, second = _by_subject(here), _by_subject(there)
    found = FindingDifferences([], [], sorted(first.keys() ^ second.keys()))
    for check in [check for check in first if check in second]:
        for subject in dict.fromkeys([*first[check], *second[check]]):
            pair = Pair(check, subject, first[check].get(subject), second[check].get(subject))
            if _differs(pair):
                found.differing.append(pair)
            elif _is_unknown(pair):
                found.unknown.append(pair)
    by_finding = {id(pair.worst): pair for pair in found.differing}
    found.differing[:] = [by_finding[id(finding)] for finding in ordered(pair.worst for pair in found.differing)]
    return found


def _by_subject(findings: Iterable[dict[str, Any]]) -> dict[str, dict[str | None, dict[str, Any]]]:
    by_check: dict[str, dict[str | None, dict[str, Any]]] = {}
    for finding in findings:
        by_check.setdefault(finding["check"], {})[finding["subject"]] = finding
    return by_check


def _differs(pair: Pair) -> bool:
    verdicts = {side["verdict"] if side else None for side in (pair.here, pair.there)}
    if "fail" not in verdicts or UNKNOWN in verdicts:
        return False
    return not pair.both_fail or show(pair.here["actual"]) != show(pair.there["actual"])


def _is_unknown(pair: Pair) -> bool:
    """One of the two could not be judged, so it is unknown whether they differ."""
    verdicts = {side["verdict"] for side in (pair.here, pair.there) if side}
    return UNKNOWN in verdicts and verdicts != {UNKNOWN, "not_applicable"}
