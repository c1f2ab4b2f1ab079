# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Findings as people read them: eight GPUs with one answer are one line."""
from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from .._render.text import count, show

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_NOUNS = (("policy", "CPU policy", "CPU policies"), ("node", "NUMA node", "NUMA nodes"), ("lxc:", "container", None),
          ("vm:", "VM", None), ("nic:", "NIC", None), ("state", "idle state", None))
SHOWN_SUBJECTS = 8


class Group(NamedTuple):
    """Findings of one check that say the same thing."""

    findings: list[dict]
    of: int                     # subjects of that check on this host

    @property
    def first(self) -> dict:
        return self.findings[0]

    @property
    def subjects(self) -> list[str]:
        return [finding["subject"] for finding in self.findings if finding["subject"] is not None]

    def who(self, gpus: frozenset[str] | set[str] = frozenset()) -> str:
        """`6 of 8 GPUs`, or an empty text for a finding about the host."""
        if not self.subjects:
            return ""
        singular, plural = noun(self.subjects[0], gpus)
        if self.of == 1:
            return self.subjects[0]
        if len(self.subjects) == self.of:
            return f"all {self.of} {plural}"
        return f"{len(self.subjects)} of {count(self.of, singular, plural)}"

    def names(self) -> str:
        """The subjects by name, cut where a list would hide the rest of the report."""
        shown = ", ".join(self.subjects[:SHOWN_SUBJECTS])
        more = len(self.subjects) - SHOWN_SUBJECTS
        return f"{shown} and {more} more" if more > 0 else shown


def noun(subject: str, gpus: frozenset[str] | set[str]) -> tuple[str, str]:
    """What a subject is called: one, many."""
    if _ADDRESS.fullmatch(subject):
        return ("GPU", "GPUs") if not gpus or subject in gpus else ("PCI port", "PCI ports")
    for start, singular, plural in _NOUNS:
        if subject.startswith(start):
            return singular, plural or f"{singular}s"
    return "subject", "subjects"


def group(chosen: list[dict], findings: list[dict]) -> list[Group]:
    """The chosen ones of a host's findings in the order given, those that differ only in their subject put together."""
    of = Counter(finding["check"] for finding in findings)
    groups: dict[tuple, list[dict]] = {}
    for finding in chosen:
        groups.setdefault(_likeness(finding), []).append(finding)
    return [Group(members, of[members[0]["check"]]) for members in groups.values()]


def _likeness(finding: dict) -> tuple:
    reason = finding["reason"] if finding["verdict"] in ("unknown", "not_applicable") else None
    return (finding["check"], finding["verdict"], finding["priority"], show(finding["actual"]),
            show(finding["recommended"]), reason, bool(finding["waived"]))
