# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Findings as people read them: eight GPUs with one answer are one line."""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple

from .._checks.things import likeness
from .._render.shell_loops import fold
from .._render.text import count, show

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_NOUNS = (("policy", "CPU policy", "CPU policies"), ("node", "NUMA node", "NUMA nodes"), ("lxc:", "container", None),
          ("vm:", "VM", None), ("nic:", "NIC", None), ("state", "idle state", None))
SHOWN_SUBJECTS, SHOWN_VALUES, SHOWN_REASONS = 8, 6, 3


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

    @property
    def actual(self) -> str:
        """What was found: `powersave`, or `4096 (7), 512 (1)` where the places differ."""
        found = Counter(show(finding["actual"]) for finding in self.findings)
        if len(found) == 1:
            return next(iter(found))
        return self._cut([f"{text} ({number})" for text, number in found.most_common()], SHOWN_VALUES)

    @property
    def reason(self) -> str:
        """Why the verdict is what it is, each reason once; nothing where that says no more than what was found."""
        reasons = list(dict.fromkeys(one["reason"] for one in self.findings
                                     if one["reason"] and one["reason"] != show(one["actual"])))
        return self._cut(reasons, SHOWN_REASONS, "; ")

    @property
    def risk(self) -> str:
        return self._cut(self.words("risk"), SHOWN_REASONS, " ")

    def commands(self, key: str = "commands") -> list[str]:
        """The commands of `fix` with the key `commands` or `undo_commands`, those for many places as one loop."""
        return fold([line for finding in self.findings for line in finding["fix"].get(key) or []])

    def words(self, key: str) -> list[str]:
        """The lines of a text of `fix` that are no commands, each once: eight GPUs have one remark."""
        return list(dict.fromkeys(line.rstrip() for finding in self.findings
                                  for line in (finding["fix"][key] or "").strip().splitlines()
                                  if line not in (finding["fix"].get("commands") or ())))

    @staticmethod
    def _cut(texts: list[str], most: int, between: str = ", ") -> str:
        more = len(texts) - most
        return between.join(texts[:most]) + (f" and {more} more" if more > 0 else "")

    def names(self) -> str:
        """The subjects by name, cut where a list would hide the rest of the report."""
        return self._cut(self.subjects, SHOWN_SUBJECTS)


def noun(subject: str, gpus: frozenset[str] | set[str]) -> tuple[str, str]:
    """What a subject is called: one, many."""
    if _ADDRESS.fullmatch(subject):
        return ("GPU", "GPUs") if not gpus or subject in gpus else ("PCI port", "PCI ports")
    for start, singular, plural in _NOUNS:
        if subject.startswith(start):
            return singular, plural or f"{singular}s"
    return "subject", "subjects"


def group(chosen: list[dict], findings: list[dict]) -> list[Group]:
    """The chosen ones of a host's findings in the order given: failing ones as things to do, others put together where
    they differ only in their subject."""
    of = Counter(finding["check"] for finding in findings)
    groups: dict[tuple, list[dict]] = {}
    for finding in chosen:
        groups.setdefault(_likeness(finding), []).append(finding)
    return [Group(members, of[members[0]["check"]]) for members in groups.values()]


def _likeness(finding: dict) -> Hashable:
    if finding["verdict"] == "fail":
        return likeness(finding)
    reason = finding["reason"] if finding["verdict"] in ("unknown", "not_applicable") else None
    return (finding["check"], finding["verdict"], finding["priority"], show(finding["actual"]),
            show(finding["recommended"]), reason, bool(finding["waived"]))
