# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The order of findings: what an experienced administrator would do first comes first."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from .findings import PRIORITIES, VERDICTS

# What serving gains from the fix. Unknown comes after what is known to help, none last.
EFFECTS = ("large", "some", "small", "unknown", "none")
# Fix classes by effort: a write; minutes of work or GPU time; a restart of the host; a visit to the machine.
_EFFORTS = {"runtime": 0, "manual": 1, "reload": 1, "reboot": 2, "firmware": 3, "none": 4}
_NONE = {"size": "none"}        # of a finding that does not fail


def ordered(findings: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort by priority, verdict, effect and effort, then findings about the whole host before those about a part of it.
    Equal ones stay in catalogue order."""
    findings = list(findings)
    subjects = Counter(finding["check"] for finding in findings)
    alike = Counter(map(_kind, findings))

    def key(finding: dict[str, Any]) -> tuple[float, ...]:
        return (PRIORITIES.index(finding["priority"]), VERDICTS.index(finding["verdict"]),
                _effect(finding), _EFFORTS[finding["fix"]["class"]],
                -alike[_kind(finding)] / subjects[finding["check"]])

    return sorted(findings, key=key)


def _effect(finding: dict[str, Any]) -> int:
    """The rank of the fix's effect, 0 (the largest) for P0: something is broken now."""
    return 0 if finding["priority"] == "P0" else EFFECTS.index(finding.get("effect", _NONE)["size"])


def _kind(finding: dict[str, Any]) -> tuple[str, str, str]:
    return finding["check"], finding["verdict"], finding["priority"]
