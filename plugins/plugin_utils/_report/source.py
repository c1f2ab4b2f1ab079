# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What a report says about the recording itself: its date, what it lacks, and what to request."""
from __future__ import annotations

from typing import Any

from .._render.text import code, count, escape, fenced, table
from .asks import EVERYTHING, asks, one_line

_KINDS = {"nvidia-bug-report": "a report of nvidia-bug-report.sh", "lspci": "pasted outputs of programs",
          "sosreport": "the archive of a sosreport", "pvereport": "what pvereport printed",
          "recording": "a recording of this collection"}


def source_of(document: dict[str, Any]) -> dict[str, Any] | None:
    """`{kind, name, collected_at, script, notes}` of an imported host; None for a host that was read directly."""
    source = document["facts"].get("source")
    return source if isinstance(source, dict) and source.get("kind") else None


def made_from(source: dict[str, Any]) -> str:
    """`Made from x.log.gz, a report of nvidia-bug-report.sh (script 33500001), of 2024-05-06T05:08:10Z.`"""
    kind = _KINDS.get(source["kind"], source["kind"])
    script = f" (script {source['script']})" if source.get("script") else ""
    when = f"of {source['collected_at']}" if source.get("collected_at") else "without a date"
    return f"Made from {source['name'] or 'a file'}, {kind}{script}, {when}: the host itself was not read."


def lacking_line(document: dict[str, Any]) -> str | None:
    """`61 checks cannot be judged for lack of data: the bug report does not have it.`; None if all can be judged."""
    checks = {finding["check"]: finding["not_recorded"] for finding in document["findings"]
              if finding["verdict"] == "unknown" and finding.get("not_recorded")}
    if not checks:
        return None
    reasons = list(dict.fromkeys(checks.values()))
    more = f", and {count(len(reasons) - 1, 'other reason')}" if len(reasons) > 1 else ""
    return f"{count(len(checks), 'check')} cannot be judged for lack of data: {reasons[0]}{more}."


def source_section(document: dict[str, Any]) -> list[str]:
    """The Markdown section; empty for a host that was read directly."""
    source = source_of(document)
    if source is None:
        return []
    lines = ["## What this was made from", "", escape(made_from(source)), ""]
    lines += [line for note in source.get("notes") or [] for line in (f"- {escape(note)}", "")]
    lacking = lacking_line(document)
    wanted = asks(document["findings"])
    if lacking is None or not wanted:
        return lines
    rows = [[code(one.command), str(len(one.checks)), ", ".join(map(code, one.checks[:6]))
             + (f" and {len(one.checks) - 6} more" if len(one.checks) > 6 else "")] for one in wanted]
    lines += [escape(lacking) + " To judge more, ask for the output of, the shortest first:", "",
              *table(("command", "checks", "which"), rows), ""]
    command = one_line(wanted)
    if command is not None:
        apart = {"pvereport": "pvereport", EVERYTHING: "the recorder"}
        without = " and ".join(apart[one.command] for one in wanted if one.command in apart)
        lines += [f"All of these{f' but {without}' if without else ''} in one, to be imported together with what is "
                  "here:", "",
                  *fenced([command], "sh"), ""]
    return [*lines, f"{code(EVERYTHING)} records all that an audit reads.", ""]


def source_lines(document: dict[str, Any]) -> list[str]:
    """The lines for a terminal."""
    source = source_of(document)
    if source is None:
        return []
    return [text for text in (made_from(source), *(source.get("notes") or []), lacking_line(document)) if text]
