# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""system-improve.md: what to do on this host, most important first, as a file to pass on."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .._checks.findings import PRIORITIES, gpu_addresses, value
from .._checks.unknown import advice
from .._render.changes import change_section
from .._render.section import Section
from .._render.text import code, count, escape, fenced, prose, show, table
from . import evidence
from .describe import describe, gpu_name
from .first_three import NOTHING, first_three
from .groups import Group, Groups
from .measured_here import measured_lines, measured_section
from .not_recorded import summed_up
from .p2p import p2p_section
from .sentences import effect_of, name_of, sentence, sentences
from .source import made_from, source_of, source_section
from .terminal import counts_line, notes

# The link of a user-defined check is untrusted text: this excludes characters that could end a Markdown link.
_URL = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]+")
_CLASSES = (
    ("runtime", "At run time"),
    ("manual", "By hand"),
    ("reload", "Reload of a module"),
    ("reboot", "With a reboot"),
    ("firmware", "Firmware or hardware"),
    ("none", "To know"),
)


def markdown_report(document: dict[str, Any], run: dict[str, Any] | None = None,
                    shown: Iterable[Section] = (), groups: Groups | None = None) -> str:
    """The report of one audit document; `run` adds the changes of a tune: `{run_id, time, planned, changes}`, `shown`
    the measurements; `groups` are those of its findings if they are known already."""
    groups = groups or Groups(document["findings"])
    gpus = gpu_addresses(document["facts"])
    failed = groups.failed
    first = first_three(failed)
    lines = [f"# {escape(document['host'])}: what to improve", "", *_head(document, failed),
             *_first(first, bool(failed), gpus), *_summary(failed, gpus),
             *_how_long(failed)]
    if run:
        lines += change_section(run)
    for name, heading in _CLASSES:
        lines += _actions(heading, [one for one in failed if one.first["fix"]["class"] == name and one not in first],
                          gpus)
    lines += evidence.markdown(shown) + measured_section(document)
    lines += source_section(document)
    lines += _unknown(groups, gpus) + _optimal(groups, gpus) + _not_applicable(groups, gpus)
    lines += _waived(groups, gpus) + _gpu_table(document["facts"])
    lines += p2p_section(document["facts"])
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(document: dict[str, Any], failed: list[Group]) -> list[str]:
    lines = [f"{escape('; '.join(describe(document['facts'])))}.", "",
             f"Audited {document['collected_at']} with the profile {code(document['profile'])}: "
             f"{escape(counts_line(document['summary']))}.", ""]
    source = source_of(document)
    for text in [*([made_from(source)] if source else []), *notes(document)]:
        lines += [f"> {escape(text)}", ""]
    return lines if failed else [*lines, "Nothing to improve; see below for what is unknown.", ""]


def _first(first: list[Group], any_failed: bool, gpus: set[str]) -> list[str]:
    """The findings to begin with, in full: what, why, how, at which risk. They are not repeated below."""
    if first:
        return ["## First", "", *(line for one in first for line in _action(one, gpus))]
    return [NOTHING, ""] if any_failed else []


def _how_long(failed: list[Group]) -> list[str]:
    if not any(one.first["fix"]["class"] == "runtime" for one in failed):
        return []
    return ["What is set at run time is gone after the next boot or reset. The playbook "
            f"{code('gpuhost.tuning.persist')} makes all that a tune changed last, and takes it out again.", ""]


def _summary(failed: list[Group], gpus: set[str]) -> list[str]:
    if not failed:
        return []
    rows = []
    for priority in PRIORITIES:
        for one in (one for one in failed if one.first["priority"] == priority):
            first = one.first
            rows.append([priority, escape(name_of(first)), escape(one.who(gpus)) or "host", code(one.actual),
                         code(show(first["recommended"])), first["fix"]["class"]])
    return ["## Summary", "", *table(("priority", "what", "where", "is", "wanted", "fix"), rows), ""]


def _actions(heading: str, groups: list[Group], gpus: set[str]) -> list[str]:
    if not groups:
        return []
    lines = [f"## {heading}", ""]
    for priority in PRIORITIES:
        for one in (one for one in groups if one.first["priority"] == priority):
            lines += _action(one, gpus)
    return lines


def _action(one: Group, gpus: set[str]) -> list[str]:
    first, fix = one.first, one.first["fix"]
    lines = [f"### {first['priority']} {escape(name_of(first))}", ""]
    lines += [line for text in sentences(one.findings) for line in (prose(text), "")]
    lines += [f"- check: {code(first['check'])}, evidence: {first['evidence']}",
              f"- is: {code(one.actual)}, wanted: {code(show(first['recommended']))}"]
    if one.subjects:
        lines.append(f"- where: {escape(one.who(gpus))}" + (f": {code(one.names())}" if one.of > 1 else ""))
    lines += measured_lines(one.findings)
    lines.append(f"- why: {escape(first['why'])}")
    if first["contested"]:
        by = ", ".join(first["contested"]["by"])
        lines.append(f"- contested by {escape(by)}: {escape(first['contested']['why'])}")
    if one.risk:
        lines.append(f"- risk: {escape(one.risk)}")
    if fix["not_planned_because"] and fix["not_planned_because"] != fix.get("forbidden"):
        lines.append(f"- not planned: {escape(fix['not_planned_because'])}")
    effect = effect_of(first)
    lines += [f"- expected effect: {escape(effect)}"] if effect else []
    lines += ["- sources: " + "; ".join(_sources(first)), ""]
    # Runtime settings are made persistent by persist.yml, in one step for all of them.
    kept = [] if fix["class"] == "runtime" else _block("Keep it after a reboot", one.words("persist"), "text")
    return lines + _instructions(one) + kept


def _sources(finding: dict[str, Any]) -> list[str]:
    """The sources, as links if each has one."""
    links = finding.get("source_links") or []
    if len(links) != len(finding["sources"]):
        return [*map(escape, finding["sources"]), *map(escape, links)]
    return [f"[{escape(source)}](<{link}>)" if _URL.fullmatch(link) else f"{escape(source)} ({code(link)})"
            for source, link in zip(finding["sources"], links)]


def _instructions(one: Group) -> list[str]:
    """What to do and how to undo it: words as text, commands as blocks that can be pasted as they are."""
    forbidden = one.first["fix"].get("forbidden")
    if forbidden:
        return [f"Not now: {escape(forbidden)}.", ""]
    commands, undo = one.commands(), one.commands("undo_commands")
    lines = _paragraph("", one.words("how")) + _block("Do", commands, "sh") + _block("Undo", undo, "sh")
    return lines if undo else lines + _paragraph("Undo: ", one.words("undo"))


def _paragraph(label: str, words: list[str]) -> list[str]:
    return [label + escape(" ".join(words)), ""] if words else []


def _block(heading: str, lines: list[str], language: str) -> list[str]:
    if not lines:
        return []
    return [f"{heading}:", "", *fenced(lines, language), ""]


def _unknown(groups: Groups, gpus: set[str]) -> list[str]:
    not_judged = groups.not_judged
    rows = [[code(one.first["check"]), escape(one.who(gpus)) or "host", escape(one.reason),
             escape(advice(one.first["reason"]))] for one in groups.with_verdict("unknown")]
    topics = [f"- {escape(text)}" for text in summed_up(not_judged)]
    lines = [*topics, "", escape(advice(not_judged[0].findings[0]["reason"])), ""] if topics else []
    lines += [*table(("check", "where", "why", "what to do"), rows), ""] if rows else []
    return ["## Unknown", "", *lines] if lines else []


def _optimal(groups: Groups, gpus: set[str]) -> list[str]:
    rows = [[code(one.first["check"]), escape(one.who(gpus)) or "host", code(one.actual),
             prose(sentence(one.first) or name_of(one.first))] for one in groups.with_verdict("pass")]
    return ["## As it should be", "", *table(("check", "where", "is", "what"), rows), ""] if rows else []


def _not_applicable(groups: Groups, gpus: set[str]) -> list[str]:
    rows = [[code(one.first["check"]), escape(one.who(gpus)) or "host", escape(one.reason)]
            for one in groups.with_verdict("not_applicable")]
    return ["## Does not apply here", "", *table(("check", "where", "why"), rows), ""] if rows else []


def _waived(groups: Groups, gpus: set[str]) -> list[str]:
    rows = [[code(one.first["check"]), escape(one.who(gpus)) or "host", escape(one.first["waived"]["reason"]),
             escape(one.first["waived"]["expires"])] for one in groups.waived]
    return ["## Waived", "", *table(("check", "where", "reason", "until"), rows), ""] if rows else []


def _driver(gpu: dict[str, Any]) -> str:
    return "none" if gpu["driver"] is None else value(gpu["driver"], "not recorded")


def _gpu_table(facts: dict[str, Any]) -> list[str]:
    rows = []
    for gpu in value(facts["gpus"], []):
        pcie = value(gpu["pcie"])
        link = pcie and pcie["link"]
        rows.append([code(gpu["bdf"]), escape(gpu_name(gpu)),
                     escape(_driver(gpu)), show(value(gpu["numa_node"])),
                     f"{link['speed_gts']} GT/s x{link['width']}" if link else "-",
                     f"{link['max_speed_gts']} GT/s x{link['max_width']}" if link else "-",
                     show(pcie and pcie["max_payload"]), show(pcie and pcie["max_read_request"]),
                     value(gpu["state"], "not recorded")])
    head = ("GPU", "model", "driver", "NUMA node", "link now", "link possible", "MaxPayload", "MaxReadReq", "state")
    if not rows:
        return []
    return [f"## {count(len(rows), 'GPU')}", "", *table(head, rows), ""]
