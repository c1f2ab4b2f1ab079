# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as readable lines: the expectation for a planted host is a table of them.

    TABLE = {
        "numa_balancing": "fail P1: 1 -> 0, planned",
        "swappiness": "not_applicable P2",
        "pcie_maxreadreq": {GPUS: "pass info: 4096"},       # by subject; a check without subjects evaluates the host
    }
    assert lines(judged(facts)) == expand(TABLE)
"""
from __future__ import annotations

import datetime
import json
from typing import Any

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import load_profile, shipped
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.judge import judge
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan.plan import plan

TODAY = datetime.date(2026, 11, 29)
CHECKS = frozenset(check.id for check in shipped())


def judged(facts: dict, profile: str = "inference", **choices: Any) -> dict[tuple[str, str | None], dict]:
    """The findings of the shipped catalogue by check and subject."""
    findings = judge(facts, shipped(), load_profile(profile), **{"today": TODAY, **choices})
    found = {(finding["check"], finding["subject"]): finding for finding in findings}
    assert len(found) == len(findings), "two findings of one check on one subject"
    return found


def lines(found: dict[tuple[str, str | None], dict]) -> dict[tuple[str, str | None], str]:
    return {pair: line(finding) for pair, finding in found.items()}


def line(finding: dict) -> str:
    """`fail P1: 1 -> 0, planned`; a finding that does not apply or is unknown has no value."""
    message = f"{finding['verdict']} {finding['priority']}"
    if finding["verdict"] in ("not_applicable", "unknown"):
        return message
    message += f": {_text(finding['actual'])}"
    if finding["verdict"] == "fail":
        message += f" -> {_text(finding['recommended'])}"
    return f"{message}, planned" if finding["fix"]["planned"] else message


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{op} {_text(wanted)}" for op, wanted in value.items())
    return value if isinstance(value, str) else json.dumps(value)


def expand(table: dict[str, str | dict[tuple[str, ...], str]]) -> dict[tuple[str, str | None], str]:
    """The lines of a table by check and subject, in the form of lines()."""
    expanded: dict[tuple[str, str | None], str] = {}
    for check, message in table.items():
        for subjects, text in ({(None,): message} if isinstance(message, str) else message).items():
            expanded.update({(check, subject): text for subject in subjects})
    return expanded


def changes(one: dict, other: dict) -> dict[tuple[str, str | None], str | None]:
    """The lines of `other` that differ from `one` or are new; None for those that it lacks."""
    before, after = lines(one), lines(other)
    return {pair: after.get(pair) for pair in {**before, **after} if before.get(pair) != after.get(pair)}


def failing(found: dict[tuple[str, str | None], dict]) -> dict[str, str]:
    """The checks with at least one failed finding, with its priority."""
    return {check: finding["priority"] for (check, _subject), finding in found.items() if finding["verdict"] == "fail"}


def skipped(facts: dict, found: dict[tuple[str, str | None], dict], kind: str) -> dict[str, str]:
    """The changes of one kind that the plan leaves out: the reason by address."""
    return {change["address"].partition(":")[2]: change["reason"]
            for change in plan(found.values(), None, facts).skipped if change["address"].startswith(f"{kind}:")}
