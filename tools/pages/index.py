# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/checks/README.md: all checks by subject and by priority, and what each profile plans."""
from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import Profile
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.check import Check
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.effective import effective_checks
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.findings import PRIORITIES
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render.text import code, table

from .page import CLASSES, EVIDENCE, TOPICS, name
from .words import escape


def index_page(checks: Sequence[Check], profiles: Sequence[Profile]) -> str:
    """The Markdown of the page."""
    lines = ["# Checks", "",
             f"The {len(checks)} checks of the catalogue, each on a page of its own. The pages are made from the "
             "catalogue (`make check-pages`), so what they say is what is judged.", "",
             "How to add one: [add-a-check.md](../add-a-check.md).", "",
             *_by_subject(checks), *_by_priority(checks), *_planned(checks, profiles), *_contested(checks, profiles)]
    return "\n".join(lines).rstrip("\n") + "\n"


def link(check: Check) -> str:
    return f"[{check.id}]({check.id}.md)"


def _by_subject(checks: Sequence[Check]) -> list[str]:
    lines = ["## By subject", ""]
    for topic, heading in TOPICS.items():
        rows = [(link(check), name(check), _priority(check), check.fix.kind, check.evidence)
                for check in checks if check.topic == topic]
        if rows:
            head = ("check", "name", "priority", "fix", "evidence")
            lines += [f"### {heading}", "", *table(head, rows), ""]
    for column, meanings in (("fix", CLASSES), ("evidence", EVIDENCE)):
        lines.append(f"- {column}: " + "; ".join(f"{code(word)} {text}" for word, text in meanings.items()))
    return [*lines, ""]


def _priority(check: Check) -> str:
    return ", or ".join([check.priority, *(escalation.priority for escalation in check.escalations)])


def _by_priority(checks: Sequence[Check]) -> list[str]:
    lines = ["## By priority", "",
             "A finding that fails has this priority, a few a higher one by evidence on the host. "
             "`P0` is broken now or data at risk, `P1` and `P2` deviate, `info` is worth knowing.", ""]
    rows = []
    for priority in PRIORITIES:
        always = [link(check) for check in checks if check.priority == priority]
        rows.append((priority, ", ".join(always) or "-",
                     ", ".join(link(check) for check in checks
                               if any(escalation.priority == priority for escalation in check.escalations)) or "-"))
    return [*lines, *table(("priority", "always", "by evidence"), rows), ""]


def _plans(check: Check, profile: Profile) -> str:
    if check.fix.kind != "runtime":
        return "-"
    return "no" if effective_checks([check], profile, {}, [])[check.id].left_out else "yes"


def _planned(checks: Sequence[Check], profiles: Sequence[Profile]) -> list[str]:
    rows = [(link(check), *(_plans(check, profile) for profile in profiles))
            for check in checks if check.fix.kind == "runtime"]
    return ["## What a tune plans", "",
            "Those whose fix is at run time, where they apply and fail. `gpuhost_include` plans one that a profile "
            "leaves out.", "", *table(("check", *(code(profile.name) for profile in profiles)), rows), ""]


def _contested(checks: Sequence[Check], profiles: Sequence[Profile]) -> list[str]:
    """The table of contested checks: who disagrees, and what each profile plans; reasons are on their pages."""
    rows = [(link(check), escape("; ".join(check.contested["by"])), *(_plans(check, profile) for profile in profiles))
            for check in checks if check.contested]
    return ["## Contested", "",
            "Somebody who should know advises otherwise. A tune plans such a change only with a profile that names it "
            "(`yes`); `-` is no change that a tune could make.", "",
            *table(("check", "who disagrees", *(code(profile.name) for profile in profiles)), rows), ""]
