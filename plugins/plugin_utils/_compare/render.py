# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Render a comparison: the same lines for a terminal and for Markdown."""
from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._checks.findings import PRIORITIES
from .._render.text import clean, code, count, escape, one_line, prose, show, table
from .._report.groups import SHOWN_SUBJECTS, _ranges, noun

WIDTH = 100
_SHOWN = 12         # facts of a difference, and things that could not be compared
_FEW_COMMANDS = 2
_NOT_THERE = "not there"


def terminal(document: Mapping[str, Any], paths: Iterable[str] = ()) -> str:
    first, second = (host["name"] for host in document["hosts"])
    lines = ["", *_wrap(headline(document)), ""]
    for one in document["differences"]:
        texts = [*_sides(one, first, second), *_about(one)]
        lines += [*_wrap(_title(one), "      "), *(f"      {line}" for text in texts for line in _wrap(text))]
        # A command stays on one line of any length, so that it can be copied.
        lines += [f"      on {_failing(one, (first, second))}: {clean(command)}" for command in _commands(one)]
    for text in notes(document):
        lines += ["", *_wrap(text)]
    return "\n".join([*lines, "", *paths])


def headline(document: Mapping[str, Any]) -> str:
    """`pve1 and pve2 differ in 3 things (1 P1, 2 P2)`."""
    names = " and ".join(host["name"] for host in document["hosts"])
    found = document["differences"]
    judged = [one for one in found if one["kind"] == "finding"]
    if not found:
        return f"{names}: nothing differs among what could be compared"
    by_priority = [f"{number} {name}" for name in PRIORITIES
                   if (number := sum(one["priority"] == name for one in judged))]
    if len(found) > len(judged):
        by_priority.append(f"{count(len(found) - len(judged), 'fact')} that no check fails for")
    return f"{names} differ in {count(len(found), 'thing')} ({', '.join(by_priority)})"


def markdown(document: Mapping[str, Any]) -> str:
    names = [host["name"] for host in document["hosts"]]
    lines = [f"# {escape(' and '.join(names))}", "", escape(headline(document)) + ".", ""]
    lines += table(("", *map(escape, names)), (
        (label, *(escape(show(host[key])) for host in document["hosts"]))
        for label, key in (("host", "host"), ("audited", "collected_at"), ("profile", "profile"), ("boot", "boot_id"))))
    judged = [one for one in document["differences"] if one["kind"] == "finding"]
    facts = [one for one in document["differences"] if one["kind"] == "fact"]
    for one in judged:
        lines += ["", f"## {escape(_title(one))}", ""]
        lines += table(("", *map(escape, names)), [["verdict", *(_verdict(side) for side in one["sides"])],
                                                   [code(one["check"]), *_actual(one)], *_fact_rows(one)])
        lines += ["", *(prose(text) + "." * (not text.endswith(".")) for text in _about(one))]
        if one["commands"]:
            lines += ["", f"On {escape(_failing(one, names))}:", "", "```sh", *map(clean, one["commands"]), "```"]
    if facts:
        lines += ["", "## Facts that differ and that no check fails for", ""]
        lines += table(("fact", "where", *map(escape, names)), (
            [code(one["fact"]), escape(_where(one["of"])), *map(code, _values(one["values"]))] for one in facts))
    for text in notes(document):
        lines += ["", prose(text)]
    return "\n".join(lines) + "\n"


def _title(one: Mapping[str, Any]) -> str:
    if one["kind"] == "fact":
        where = _where(one["of"])
        return f"fact  {one['fact']}" + (f": {where}" if where else "")
    who = _who(one["subjects"])
    return f"{one['priority']:<4}  {one['name']}" + (f": {who}" if who else "")


def _sides(one: Mapping[str, Any], first: str, second: str) -> list[str]:
    width = max(len(first), len(second))
    if one["kind"] == "fact":
        return [f"{name:<{width}}  {text}" for name, text in zip((first, second), _values(one["values"]))]
    return [f"{name:<{width}}  " + (f"{side['actual']} ({_verdict(side)})" if side["verdict"] else _NOT_THERE)
            for name, side in zip((first, second), one["sides"])]


def _failing(one: Mapping[str, Any], names: Sequence[str]) -> str:
    return " and ".join(name for name, side in zip(names, one["sides"]) if side["verdict"] == "fail")


def _commands(one: Mapping[str, Any]) -> list[str]:
    """The commands of a finding if there are few; the report has all of them."""
    found = one.get("commands", [])
    return found if len(found) <= _FEW_COMMANDS else []


def _about(one: Mapping[str, Any]) -> list[str]:
    if one["kind"] == "fact":
        return []
    also = [f"The same is behind {', '.join(one['also'])}"] if one["also"] else []
    return [text for text in (one["said"], *also) if text]


def _fact_rows(one: Mapping[str, Any]) -> list[list[str]]:
    rows = [[" ".join([code(fact["fact"]), escape(_where(fact["of"]))]).strip(),
             *map(code, _values(fact["values"]))] for fact in one["facts"]]
    more = len(rows) - _SHOWN
    return rows[:_SHOWN] + ([[f"and {count(more, 'fact')} more", "", ""]] if more > 0 else [])


def _actual(one: Mapping[str, Any]) -> list[str]:
    return [code(show(side["actual"])) for side in one["sides"]]


def _verdict(side: Mapping[str, Any]) -> str:
    return {"pass": "as it should be", "fail": "fails", "not_applicable": "does not apply", None: _NOT_THERE}[
        side["verdict"]]


def _values(values: list[Any]) -> list[str]:
    """Both values; of two long lists only the items that are not in both, as these are hard to spot in long lines."""
    if all(isinstance(value, list) and len(value) > _SHOWN for value in values):
        here, there = values
        alike = len(set(here) & set(there))
        return [f"{_shown(_cut_list(only))} (and {alike} alike)" for only in (
            [one for one in here if one not in there], [one for one in there if one not in here])]
    return [_shown(_cut_list(value) if isinstance(value, list) else value) for value in values]


def _cut_list(value: list[Any]) -> list[Any]:
    return value if len(value) <= _SHOWN else [*value[:_SHOWN], f"and {len(value) - _SHOWN} more"]


def _shown(value: Any) -> str:
    return _NOT_THERE if value is None else show(value)


def _who(subjects: list[str]) -> str:
    if len(subjects) <= 1:
        return "".join(subjects)
    return f"{count(len(subjects), *noun(subjects[0], frozenset()))} ({_names(subjects)})"


def _where(of: list[list[str]]) -> str:
    return _names([" ".join(names) for names in of])


def _names(names: list[str]) -> str:
    shown = _ranges(names)
    more = len(shown) - SHOWN_SUBJECTS
    return ", ".join(shown[:SHOWN_SUBJECTS]) + (f" and {more} more" if more > 0 else "")


def notes(document: Mapping[str, Any]) -> list[str]:
    """Notes on matched devices, on what could not be compared, and on what was ignored."""
    first, second = (host["name"] for host in document["hosts"])
    remarks = []
    if document["counterparts"]:
        pairs = [f"{ours} is {theirs} there" for ours, theirs in document["counterparts"].items()]
        remarks.append(f"Devices lie elsewhere on {second}; by the names of {first}: {_cut(pairs)}.")
    for host in document["hosts"]:
        if not host["privileged"]:
            remarks.append(f"The audit of {host['name']} ran without root and has not read all.")
    unread = [f"{one['what']}" + (f" of {_names(one['of'])}" if one["of"] else "") + f" ({one_line(one['why'])})"
              for one in document["could_not_be_compared"]]
    if unread:
        remarks.append(f"Could not be compared: {_cut(unread)}.")
    if document["judged_by_one"]:
        remarks.append(f"Judged by one of the audits only: {_cut(document['judged_by_one'])}.")
    varying = [f"{number} because {why}" for why, number in document["varies_by_itself"].items()]
    if varying:
        values = count(sum(document["varies_by_itself"].values()), "value")
        remarks.append(f"Left alone, {values}: {'; '.join(varying)}.")
    return remarks


def _cut(texts: list[str]) -> str:
    more = len(texts) - _SHOWN
    return ", ".join(texts[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(clean(text), WIDTH - 6, break_long_words=False, break_on_hyphens=False,
                         subsequent_indent=indent) or [""]
