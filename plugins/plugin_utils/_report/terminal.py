# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The audit on a terminal: at most 100 columns, what to do first."""
from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from .._checks.findings import PRIORITIES, gpu_addresses
from .._checks.unknown import advice
from .._expressions.fact_words import fact_in_words
from .._render.text import clean, count, one_line, show
from .describe import describe
from .first_three import NOTHING, by_priority, first_three
from .groups import Group, Groups
from .measured_here import planned_all_the_same
from .not_recorded import summed_up
from .sentences import effect_of, name_of, sentences
from .source import source_lines

WIDTH = 100
_MOST_COMMANDS = 12
SHOWN_FACTS = 4
_COLOURS = {"P0": "red", "P1": "yellow", "P2": "cyan", "info": "dark gray"}
Paint = Callable[[str, str], str]


def no_paint(text: str, _colour: str) -> str:
    return text


def full_report(document: dict[str, Any], paths: dict[str, str], paint: Paint = no_paint,
                remarks: Iterable[str] = (), groups: Groups | None = None) -> str:
    """The whole report of one host: what to do first, other failed findings by priority, what could not be read, the
    counts, remarks about other parts of the report, and the paths of the files. `groups` are those of the findings if
    they are known already."""
    facts = document["facts"]
    groups = groups or Groups(document["findings"])
    gpus = gpu_addresses(facts)
    lines = ["", *_wrap(f"{document['host']}: {'; '.join(describe(facts))}"), f"profile {document['profile']}",
             *(line for text in source_lines(document) for line in _wrap(text)), ""]
    failed = groups.failed
    first = first_three(failed)
    if first:
        lines += ["First:", *(line for one in first for line in [*_finding(one, gpus, paint), *_how(one)]), ""]
    rest = [one for one in by_priority(failed) if one not in first]
    if rest:
        lines += ["Then:" if first else NOTHING, *(line for one in rest for line in _finding(one, gpus, paint))]
    if not failed:
        lines.append("Nothing to improve; see below for what is unknown.")
    lines += ["", *_unknown(groups, gpus), *_wrap(counts_line(document["summary"]))]
    lines += [line for text in [*notes(document), *remarks] for line in _wrap(text)]
    return "\n".join(lines + [f"{name}: {path}" for name, path in paths.items()])


def _finding(one: Group, gpus: set[str], paint: Paint) -> list[str]:
    first = one.first
    label = paint(f"{first['priority']:<4}", _COLOURS[first["priority"]])
    head = _wrap(name_of(first))
    lines = [f"{label}  {head[0]}", *(f"      {line}" for line in head[1:])]
    for text in sentences(one.findings):
        lines += _indented(text)
    facts = [f"{first['check']}: {one.actual}"]
    if first["recommended"] is not None:
        facts.append(f"wanted {show(first['recommended'])}")
    who = one.who(gpus)
    fix = first["fix"]["class"] + (", contested" if first["contested"] else "")
    lines += _indented(", ".join(facts) + (f" ({who})" if who else "") + f" [{fix}]")
    if one.subjects and len(one.subjects) < one.of:
        lines += _indented(one.names())
    return lines


def _how(one: Group) -> list[str]:
    """What to do, its risk and its effect. A command stays on one line of any length, so that it can be copied."""
    fix = one.first["fix"]
    lines = []
    if fix.get("forbidden"):
        lines += _indented(f"not now: {fix['forbidden']}")
    else:
        # If the words differ between subjects, those of one are shown as an example; the file has them all.
        words, of_first = one.words("how"), Group(one.findings[:1], one.of).words("how")
        more = f" (for {count(len(one.findings) - 1, 'other place')} see the report)" if words != of_first else ""
        lines += _indented(f"do: {' '.join(of_first)}{more}") if words else []
        commands = one.commands()
        lines += [f"      {clean(command)}" for command in commands[:_MOST_COMMANDS]]
        if len(commands) > _MOST_COMMANDS:
            lines += _indented(f"and {count(len(commands) - _MOST_COMMANDS, 'more line')}: see the report")
    lines += _indented(f"risk: {one.risk}") if one.risk else []
    effect = effect_of(one.first)
    return lines + (_indented(f"expected effect: {effect}") if effect else [])


def _unknown(groups: Groups, gpus: set[str]) -> list[str]:
    unknown, not_judged = groups.with_verdict("unknown"), groups.not_judged
    if not unknown and not not_judged:
        return []
    lines = ["Unknown:"]
    for text in summed_up(not_judged):
        lines += _indented(text)
    for one in unknown:
        who = one.who(gpus)
        lines += _indented(f"{one.first['check']}{f' ({who})' if who else ''}: {one.reason}")
    for text in dict.fromkeys(advice(finding["reason"]) for finding in (
            *(topic.findings[0] for topic in not_judged), *(one.first for one in unknown))):
        lines += _wrap(text)
    return [*lines, ""]


def counts_line(summary: dict[str, Any]) -> str:
    """`2 things to do (1 P1, 1 P2) in 257 places, 20 passed, 12 not applicable, 1 unknown`."""
    things = summary["things"]
    by_priority = ", ".join(f"{things[name]} {name}" for name in PRIORITIES if things[name])
    parts = [f"{count(sum(things.values()), 'thing')} to do"
             + (f" ({by_priority}) in {count(sum(summary['places'].values()), 'place')}" if by_priority else ""),
             f"{summary['verdicts']['pass']} passed",
             f"{summary['verdicts']['not_applicable']} not applicable", f"{summary['verdicts']['unknown']} unknown"]
    if summary["waived"]:
        parts.append(f"{summary['waived']} waived")
    return ", ".join(parts)


def notes(document: dict[str, Any]) -> list[str]:
    """Notes on this run: PARTIAL without root, expired waivers, planned changes that were measured to be harmful."""
    facts = document["facts"]
    message = []
    if not facts["privileged"]:
        missing = sorted({entry["fact"] for entry in facts["unread"]})
        message.append(f"PARTIAL: run without root, {count(len(missing), 'fact')} could not be read{_among(missing)}. "
                       "Run it as root or as a user with sudo to get the rest.")
    message += [f"waiver of {entry['check']} expired on {entry['expires']}: {one_line(entry['reason'])}"
                for entry in document["summary"].get("expired_waivers", [])]
    message += planned_all_the_same(document["findings"])
    return message


def _among(facts: list[str]) -> str:
    """`: ACS (lspci -vvv); swap (/proc/swaps)`, with the number of further kinds of facts."""
    kinds = list(dict.fromkeys(map(fact_in_words, facts)))
    more = f"; and {count(len(kinds) - SHOWN_FACTS, 'other')}" if len(kinds) > SHOWN_FACTS else ""
    return f": {'; '.join(kinds[:SHOWN_FACTS])}{more}" if kinds else ""


def short_line(document: dict[str, Any], groups: Groups | None = None) -> str:
    """One line for one host of many."""
    groups = groups or Groups(document["findings"])
    line = f"{document['host']}: {counts_line(document['summary'])}"
    if not document["facts"]["privileged"]:
        line += ", PARTIAL (no root)"
    first = first_three(groups.failed)
    if first:
        line += "; first: " + ", ".join(one.first["check"] for one in first)
    return clean(line)


def _indented(text: str) -> list[str]:
    return [f"      {line}" for line in _wrap(text)]


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(one_line(text), WIDTH - 6, break_long_words=False, break_on_hyphens=False) or [""]
