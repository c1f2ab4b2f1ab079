# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Generate the page of one check."""
from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import Profile
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.check import Check
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.effective import EffectiveCheck, effective_checks
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render.text import code, one_line, show, table

from .facts import description
from .words import block, escape, expression, instructions, lines, prose, reads, reasons

TOPICS = {
    "target": "The target", "cpu": "CPU and power", "memory": "Memory", "scheduler": "Scheduler", "kernel": "Kernel",
    "network": "Network", "interrupts": "Interrupts and NUMA", "pcie": "PCI Express and links",
    "iommu": "IOMMU, ACS and transfers between GPUs", "nvidia": "NVIDIA driver and GPUs", "guests": "Guests",
    "firmware": "Firmware and health",
}
EVIDENCE = {
    "kernel_doc": "documentation or source of the kernel", "vendor": "a vendor's documentation or source",
    "measured": "a published measurement", "community": "experience of operators",
}
CLASSES = {
    "runtime": "at run time, a tune can do it", "reload": "with a reload of a module", "reboot": "with a reboot",
    "firmware": "in the firmware or the hardware", "manual": "by hand", "none": "nothing to do, it informs",
}
EFFECTS = {
    "at_once": "at once", "new_allocations": "for new allocations only",
    "workload_restart": "for workloads that start afterwards",
}


def check_page(check: Check, profiles: Sequence[Profile]) -> str:
    """The Markdown of the page; `profiles` in the order in which they are shown."""
    message = [f"# {name(check)}", "", *_sentences(check), *_head(check), "## Why", "", prose(check.why, check), "",
               *_reading(check), *_applicability(check), *_recommended(check, profiles), *_fix(check),
               *_contested(check), "## Sources", "", *_sources(check), "",
               "[All checks](README.md)"]
    return "\n".join(message) + "\n"


def name(check: Check) -> str:
    """The name of the check, as Markdown."""
    return escape(check.name) if check.name else prose(check.title, check)


def _sentences(check: Check) -> list[str]:
    """The sentences of a report if the check fails and if it passes."""
    if check.problem is None:
        return []
    texts = lines(check.problem, check)
    fails = [f"Where it fails: {texts[0]}."] if len(texts) == 1 else ["Where it fails, one of these:", "", *texts]
    return [*fails, "", f"Where it passes: {prose(check.title, check)}.", ""]


def _sources(check: Check) -> list[str]:
    """The sources, as links if there is one link per source."""
    if len(check.source_links) != len(check.sources):
        return [f"- {escape(text)}" for text in (*check.sources, *check.source_links)]
    return [f"- [{escape(source)}](<{link}>)" if link.startswith("http") else f"- {escape(source)}: {code(link)}"
            for source, link in zip(check.sources, check.source_links)]


def _head(check: Check) -> list[str]:
    priority = check.priority
    for escalation in check.escalations:
        priority += f", {escalation.priority} where {code(escalation.condition.text)}"
    rows = [("id", code(check.id)), ("subject", TOPICS[check.topic]), ("priority", priority),
            ("evidence", EVIDENCE[check.evidence])]
    if check.effect.source:
        rows.append(("expected effect", f"{check.effect.size}: {escape(check.effect.source)}"))
    rows.append(("fix", CLASSES[check.fix.kind]))
    if check.fix.kind != "none":
        rows.append(("a change is felt", EFFECTS[check.takes_effect]))
    return [*table(("", ""), rows), ""]


def _reading(check: Check) -> list[str]:
    rows = []
    for purpose, paths in reads(check):
        for path in paths:
            rows.append((purpose, code(path), escape(description(path))))
            purpose = ""
    message = ["## How it is read", ""]
    if rows:
        message += [*table(("tells", "fact", "what that is"), rows), ""]
    message += ["What is compared:", "", *expression(check.actual.text), ""]
    if check.absent_verdict:
        verdict = {"pass": "passes", "fail": "fails", "not_applicable": "does not apply"}[check.absent_verdict]
        message += [f"Where there is no such thing the check {verdict}: {prose(check.absent_reason, check)}."]
    else:
        message += ["Where it cannot be read the finding is `unknown` and says why."]
    return [*message, ""]


def _applicability(check: Check) -> list[str]:
    message = ["## Where it applies", ""]
    if check.each is not None:
        message += [f"There is one finding for each of these (`it`), named by {code(check.subject.text)}:", "",
                    *expression(check.each.text), ""]
    if check.applies is not None:
        message += ["It applies where this is true:", "", *expression(check.applies.text), ""]
    why_not = reasons(check.otherwise, check)
    if not why_not:
        return [*message, "It applies to every host.", ""]
    return [*message, "Otherwise the finding is `not_applicable`, with one of these reasons:", "",
            *(f"- {text}" for text in dict.fromkeys(why_not)), ""]


def wanted(effective_checks: EffectiveCheck) -> str:
    """The expected value, in words: `at least 16777216`."""
    op = effective_checks.check.expect.op
    value = one_line(effective_checks.source.text) if effective_checks.source is not None else effective_checks.value
    if op in ("empty", "not_empty", "all_equal"):
        value = True
    return code(show(value if op == "equals" else {op: value}))


def _recommended(check: Check, profiles: Sequence[Profile]) -> list[str]:
    effective = [(profile.name, effective_checks([check], profile, {}, [])[check.id]) for profile in profiles]
    message = ["## What is recommended", ""]
    if len({wanted(one) for _name, one in effective}) == 1 and check.fix.kind != "runtime":
        return [*message, f"{wanted(effective[0][1])}, whatever the profile. No tune changes it.", ""]
    if check.fix.kind != "runtime":
        return [*message, *table(("profile", "wanted"), [(code(name), wanted(one)) for name, one in effective]), ""]
    message += table(("profile", "wanted", "planned by a tune"),
                     [(code(name), wanted(one), escape(f"no: {one.left_out}") if one.left_out else "yes")
                      for name, one in effective])
    not_where = [f"- {text}" for condition in check.plan_if for text in _unmet(condition, check)]
    if not_where:
        message += ["", "Whatever the profile, no tune plans it where", "", *dict.fromkeys(not_where)]
    return [*message, ""]


def _unmet(condition, check: Check) -> list[str]:
    return reasons(condition.otherwise, check) or [f"this is not true: {code(condition.expression.text)}"]


def _fix(check: Check) -> list[str]:
    fix = check.fix
    if fix.kind == "none":
        return []
    message = ["## How to fix it", ""]
    if fix.tunable is not None:
        message += [f"What a tune writes to: {code(block(fix.tunable, check)[1])}.", ""]
    if fix.how is not None:
        message += [*_paragraphs(instructions(fix.how, check)), ""]
    if fix.risk is not None:
        message += [f"Risk: {' '.join(lines(fix.risk, check))}", ""]
    if fix.undo is not None:
        message += [f"Undo: {' '.join(instructions(fix.undo, check))}", ""]
    if fix.persist is not None:
        message += ["To keep it after a reboot:", "", *block(fix.persist, check), ""]
    return message


def _paragraphs(texts: list[str]) -> list[str]:
    """Separate the lines by blank ones, because Markdown joins consecutive lines."""
    return [line for text in texts for line in (text, "")][:-1]


def _contested(check: Check) -> list[str]:
    if not check.contested:
        return []
    return ["## Who disagrees", "", *(f"- {escape(who)}" for who in check.contested["by"]), "",
            escape(check.contested["why"]), ""]
