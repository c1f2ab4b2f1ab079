# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Attach measurements on a host to the findings that they are evidence for.

This changes neither verdicts nor plans: a finding states the rule, a measurement its effect on this host. Where they
disagree, the user decides.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .._checks.findings import gpu_addresses
from .._render.text import code, escape, one_line, table
from .._statistics.effect import HURTS
from .groups import Group

_SHOWN = ("kind", "verdict", "said", "run_id", "measured_at")
_AGAINST = "This contradicts the recommendation: check the experiment before you apply it to this host"


def attach(findings: Iterable[dict[str, Any]], entries: Iterable[Mapping[str, Any]], boot_id: str | None) -> None:
    """Add the `entries` of measured.json to their findings, as `measured_here`.

    An entry without a subject applies to all subjects of its check. `same_boot` is null if a boot ID is unknown.
    """
    by_check: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        by_check.setdefault(entry["check"], []).append(entry)
    for finding in findings:
        finding["measured_here"] = [
            {**{name: entry[name] for name in _SHOWN}, "same_boot": _same(entry["boot_id"], boot_id)}
            for entry in by_check.get(finding["check"], []) if entry["subject"] in (None, finding["subject"])]


def _same(one: str | None, other: str | None) -> bool | None:
    return None if one is None or other is None else one == other


def sentences(finding: Mapping[str, Any]) -> list[str]:
    """A plain-text sentence for each measurement of a finding; none for a record of an earlier release."""
    return [_sentence(entry) for entry in finding.get("measured_here", [])]


def _sentence(entry: Mapping[str, Any]) -> str:
    # An experiment compares two states within one boot and stays valid after a reboot; a link may train differently.
    earlier = ", before the last reboot" if entry["kind"] == "bandwidth" and entry["same_boot"] is False else ""
    message = one_line(f"{entry['said']} ({entry['kind']} of {entry['measured_at']}, run {entry['run_id']}{earlier})")
    return f"{message}. {_AGAINST}" if speaks_against(entry) else message


def speaks_against(entry: Mapping[str, Any]) -> bool:
    """Whether this host was measured to be worse with the recommended setting."""
    return entry["kind"] == "experiment" and entry["verdict"] == HURTS


def planned_all_the_same(findings: Iterable[Mapping[str, Any]]) -> list[str]:
    """A warning for each planned change that was measured to be harmful on this host."""
    runs: dict[str, dict[str, None]] = {}
    for finding in findings:
        for entry in finding.get("measured_here", []):
            if finding["fix"]["planned"] and speaks_against(entry):
                runs.setdefault(entry["run_id"], {})[finding["check"]] = None
    return [f"planned although an experiment on this host showed a loss: {', '.join(checks)} (experiment {run_id}; "
            "its overrides.yml excludes it)" for run_id, checks in runs.items()]


def measured_lines(findings: list[dict[str, Any]]) -> list[str]:
    """Markdown lines for findings of one check that are shown together: each sentence once, with its subjects."""
    whom: dict[str, list[str]] = {}
    for finding in findings:
        for sentence in sentences(finding):
            whom.setdefault(sentence, []).append(finding["subject"] or "")
    return [f"- measured here{_of(subjects, len(findings))}: {escape(sentence)}" for sentence, subjects in whom.items()]


def _of(subjects: list[str], everyone: int) -> str:
    return "" if len(subjects) == everyone or not all(subjects) else f" ({', '.join(map(escape, subjects))})"


def measured_section(document: Mapping[str, Any]) -> list[str]:
    """All findings with measurements, whatever their verdict; similar ones share a row."""
    measured = [finding for finding in document["findings"] if finding.get("measured_here")]
    if not measured:
        return []
    of = Counter(finding["check"] for finding in document["findings"])
    alike: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for finding in measured:
        for sentence in sentences(finding):
            alike.setdefault((finding["check"], finding["verdict"], sentence), []).append(finding)
    gpus = gpu_addresses(document["facts"])
    rows = [[code(check), _where(Group(found, of[check]), gpus), verdict.replace("_", " "), escape(sentence)]
            for (check, verdict, sentence), found in alike.items()]
    return ["## Findings that were measured here", "",
            *table(("check", "where", "finding", "measured here"), rows), ""]


def _where(one: Group, gpus: set[str]) -> str:
    who = one.who(gpus)
    return escape(f"{who}: {one.names()}" if 1 < one.of != len(one.findings) else who or "host")
