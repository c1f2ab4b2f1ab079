# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Group findings for display: the same result on eight GPUs is one line."""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from functools import cached_property
from operator import itemgetter

from .._checks.findings import PRIORITIES
from .._checks.things import likeness, without_place
from .._render.shell_loops import fold
from .._render.text import count, show
from .not_recorded import split

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_NOUNS = (("policy", "CPU policy", "CPU policies"), ("node", "NUMA node", "NUMA nodes"), ("lxc:", "container", None),
          ("vm:", "VM", None), ("nic:", "NIC", None), ("state", "idle state", None))
_NUMBERED = re.compile(r"([A-Za-z]+)(0|[1-9][0-9]*)")
_SHORTEST_RANGE = 3
SHOWN_SUBJECTS, SHOWN_VALUES, SHOWN_REASONS = 8, 6, 3


class Group:
    """Findings of one check with the same result. `of`: the number of subjects of that check on this host."""

    def __init__(self, findings: list[dict], of: int) -> None:
        self.findings = findings
        self.first = findings[0]
        self.of = of
        self.subjects = [finding["subject"] for finding in findings if finding["subject"] is not None]

    def who(self, gpus: frozenset[str] | set[str] = frozenset()) -> str:
        """`6 of 8 GPUs`; empty for a finding about the host."""
        if not self.subjects:
            return ""
        singular, plural = noun(self.subjects[0], gpus)
        if self.of == 1:
            return self.subjects[0]
        if len(self.subjects) == self.of:
            return f"all {self.of} {plural}"
        return f"{len(self.subjects)} of {count(self.of, singular, plural)}"

    @cached_property
    def actual(self) -> str:
        """The value found: `powersave`, or `4096 (7), 512 (1)` where subjects differ."""
        found = [show(finding["actual"]) for finding in self.findings]
        if found.count(found[0]) == len(found):
            return found[0]
        return self._cut([f"{text} ({number})" for text, number in Counter(found).most_common()], SHOWN_VALUES)

    @cached_property
    def reason(self) -> str:
        """The reason of the verdict; reasons that differ only in the subject are given once. Empty if it says no more
        than the value found."""
        alike: dict[str, list[str]] = {}
        for one in self.findings:
            if one["reason"] and one["reason"] != show(one["actual"]):
                alike.setdefault(without_place(one["reason"], one["subject"]), []).append(one["reason"])
        reasons = [reasons[0] + (f" (and {count(len(reasons) - 1, 'other')})" if len(set(reasons)) > 1 else "")
                   for reasons in alike.values()]
        return self._cut(reasons, SHOWN_REASONS, "; ")

    @property
    def risk(self) -> str:
        return self._cut(self.words("risk"), SHOWN_REASONS, " ")

    def commands(self, key: str = "commands") -> list[str]:
        """The commands of `fix` under `commands` or `undo_commands`; those for many subjects as one loop."""
        return fold([line for finding in self.findings for line in finding["fix"].get(key) or []])

    def words(self, key: str) -> list[str]:
        """The lines of a text of `fix` that are not commands, without duplicates."""
        return list(dict.fromkeys(line.rstrip() for finding in self.findings
                                  for line in (finding["fix"][key] or "").strip().splitlines()
                                  if line not in (finding["fix"].get("commands") or ())))

    @staticmethod
    def _cut(texts: list[str], most: int, between: str = ", ") -> str:
        more = len(texts) - most
        return between.join(texts[:most]) + (f" and {more} more" if more > 0 else "")

    def names(self) -> str:
        """The subjects by name, truncated if the list is too long."""
        return self._cut(_ranges(self.subjects), SHOWN_SUBJECTS)


def _ranges(subjects: list[str]) -> list[str]:
    """Abbreviate subjects made of a word and a number: three or more neighbours become `policy0-255`."""
    runs: list[list[str]] = []
    for subject in subjects:
        if runs and _next_of(runs[-1][-1]) == subject:
            runs[-1].append(subject)
        else:
            runs.append([subject])
    return [text for run in runs for text in (
        run if len(run) < _SHORTEST_RANGE else [f"{run[0]}-{_NUMBERED.fullmatch(run[-1])[2]}"])]


def _next_of(subject: str) -> str | None:
    numbered = _NUMBERED.fullmatch(subject)
    return numbered and f"{numbered[1]}{int(numbered[2]) + 1}"


def noun(subject: str, gpus: frozenset[str] | set[str]) -> tuple[str, str]:
    """What a subject is called, singular and plural."""
    if _ADDRESS.fullmatch(subject):
        return ("GPU", "GPUs") if not gpus or subject in gpus else ("PCI port", "PCI ports")
    for start, singular, plural in _NOUNS:
        if subject.startswith(start):
            return singular, plural or f"{singular}s"
    return "subject", "subjects"


class Groups:
    """The findings of one host, grouped once for all files of its audit."""

    def __init__(self, findings: list[dict]) -> None:
        self.findings = findings
        told, self.not_judged = split(findings)
        self.told = group(told, findings)           # all but those of `not_judged`

    def tally(self) -> dict[str, dict[str, int]]:
        """The things to do and their places by priority, as tally() of things.py counts them."""
        counts = {name: dict.fromkeys(PRIORITIES, 0) for name in ("things", "places")}
        for one in self.failed:
            counts["things"][one.first["priority"]] += 1
            counts["places"][one.first["priority"]] += len(one.findings)
        return counts

    def with_verdict(self, verdict: str) -> list[Group]:
        # The findings of a group have the same verdict, and all or none of them are waived.
        return [one for one in self.told if one.first["verdict"] == verdict]

    @cached_property
    def failed(self) -> list[Group]:
        """What is left to do."""
        return [one for one in self.with_verdict("fail") if not one.first["waived"]]

    @cached_property
    def waived(self) -> list[Group]:
        return group([finding for finding in self.findings if finding["waived"]], self.findings)


def group(chosen: list[dict], findings: list[dict]) -> list[Group]:
    """Group the `chosen` findings of a host in the order given: failed ones by the thing to do, others if they differ
    only in their subject."""
    of = Counter(map(itemgetter("check"), findings))
    groups: dict[tuple, list[dict]] = {}
    for finding in chosen:
        groups.setdefault(_likeness(finding), []).append(finding)
    return [Group(members, of[members[0]["check"]]) for members in groups.values()]


def _likeness(finding: dict) -> Hashable:
    if finding["verdict"] == "fail":
        return likeness(finding)
    reason = finding["reason"] if finding["verdict"] in ("unknown", "not_applicable") else None
    if reason:
        reason = without_place(reason, finding["subject"])
    return (finding["check"], finding["verdict"], finding["priority"], show(finding["actual"]),
            show(finding["recommended"]), reason, bool(finding["waived"]))
