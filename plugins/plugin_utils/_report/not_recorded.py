# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Findings without data in a recording: reports have one line for each topic, audit.json has every finding."""
from __future__ import annotations

from typing import Any, NamedTuple

from .._render.text import count

_NAMES = {"cpu": "CPU", "gpu": "GPU", "iommu": "IOMMU", "numa": "NUMA", "nvidia": "NVIDIA", "pcie": "PCIe"}


class NotJudged(NamedTuple):
    """The findings of one topic, and the sentence for them."""

    topic: str
    findings: list[dict[str, Any]]
    line: str


def split(findings: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[NotJudged]]:
    """Separate findings for which a recording has no data, by topic, from the others."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for finding in findings:
        if finding.get("not_recorded"):
            topics.setdefault(finding["topic"], []).append(finding)
    return ([finding for finding in findings if not finding.get("not_recorded")],
            [NotJudged(topic, found, _line(topic, found)) for topic, found in topics.items()])


def _line(topic: str, findings: list[dict[str, Any]]) -> str:
    """`Memory: 12 checks not judged: the bug report does not have it`; with counts if there are several reasons."""
    reasons: dict[str, set[str]] = {}
    for finding in findings:
        reasons.setdefault(finding["not_recorded"], set()).add(finding["check"])
    checks = {finding["check"] for finding in findings}
    why = "; ".join(f"{reason} ({len(found)})" if len(reasons) > 1 else reason for reason, found in reasons.items())
    return f"{_NAMES.get(topic) or topic.capitalize()}: {count(len(checks), 'check')} not judged: {why}"
