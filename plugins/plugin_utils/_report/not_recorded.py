# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Findings without data in a recording: reports count them by topic, audit.json has every finding."""
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


def summed_up(topics: list[NotJudged]) -> list[str]:
    """`69 checks not judged for lack of data (the bug report does not have it): CPU 12, Memory 9`, one per reason."""
    reasons: dict[str, dict[str, set[str]]] = {}
    for one in topics:
        for finding in one.findings:
            reasons.setdefault(finding["not_recorded"], {}).setdefault(one.topic, set()).add(finding["check"])
    return [_sum(reason, found) for reason, found in reasons.items()]


def _sum(reason: str, by_topic: dict[str, set[str]]) -> str:
    number = len(set().union(*by_topic.values()))
    most_first = sorted(by_topic, key=lambda topic: -len(by_topic[topic]))
    return (f"{count(number, 'check')} not judged for lack of data ({reason}): "
            + ", ".join(f"{_name(topic)} {len(by_topic[topic])}" for topic in most_first))


def _name(topic: str) -> str:
    return _NAMES.get(topic) or topic.capitalize()


def _line(topic: str, findings: list[dict[str, Any]]) -> str:
    """`Memory: 12 checks not judged: the bug report does not have it`; with counts if there are several reasons."""
    reasons: dict[str, set[str]] = {}
    for finding in findings:
        reasons.setdefault(finding["not_recorded"], set()).add(finding["check"])
    checks = {finding["check"] for finding in findings}
    why = "; ".join(f"{reason} ({len(found)})" if len(reasons) > 1 else reason for reason, found in reasons.items())
    return f"{_name(topic)}: {count(len(checks), 'check')} not judged: {why}"
