# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""system-improve-short.md: the audit of an imported host in 30 lines, to be posted in a thread.

It does not identify the machine: host names, UUIDs, serial numbers, hardware and IP addresses, and user names in paths
are masked in every sentence.
"""
from __future__ import annotations

import re
from typing import Any

from .._checks.findings import value
from .._render.text import clean, count, one_line
from .asks import EVERYTHING, asks
from .asks import one_line as one_command
from .describe import describe
from .first_three import by_priority
from .groups import Group, Groups
from .sentences import name_of, sentences
from .source import lacking_line, source_of
from .terminal import counts_line

FILE = "system-improve-short.md"
LINES = 30
WIDTH = 300                 # characters in a line
MASKED = "masked"
_HEAD, _TAIL = 4, 5         # lines around the findings
_FORMS = (
    re.compile(r"\b(?:GPU-|MIG-)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
    re.compile(r"\b[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5,19}\b"),
    re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])"),
    re.compile(r"\b(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}\b"),
    re.compile(r"(?<=/home/)[^/\s,;:'\"]+|(?<=/Users/)[^/\s,;:'\"]+"),
    re.compile(r"(?i)(?<=serial number )\S+|(?<=serial=)\S+"),
    re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
)
_GUESTS = re.compile(r"(?<=\b(?:vm|ct) \d{3} \()[^)]*(?=\))", re.IGNORECASE)


def short_report(document: dict[str, Any], groups: Groups | None = None) -> str | None:
    """The short report; None for a host that was read directly."""
    source = source_of(document)
    if source is None:
        return None
    failed = by_priority((groups or Groups(document["findings"])).failed)
    when = source.get("collected_at") or "an unknown date"
    lines = [f"**GPU host audit** (gpuhost.tuning) of {source['kind']}, {when[:10]}", "",
             f"{'; '.join(describe(document['facts']))}{_driver(document['facts'])}.",
             f"{counts_line(document['summary'])}."]
    lines += _findings(failed, LINES - _HEAD - _TAIL)
    lacking, commands = _tail(document)
    masked = mask("\n".join(_cut(clean(one_line(line))) for line in [*lines, *lacking]), document)
    # A command stays on one line of any length, so that it can be copied. It has no data of the host: a host that is
    # named after its file, lspci.txt, must not hide the program.
    return "\n".join([masked, *commands]).rstrip("\n") + "\n"


def _cut(line: str) -> str:
    return line if "`" in line or len(line) <= WIDTH else line[:WIDTH].rpartition(" ")[0] + " ..."


def _driver(facts: dict[str, Any]) -> str:
    version = value(facts["nvidia"]["driver_version"])
    return f"; driver {version}" if version else ""


def _findings(failed: list[Group], most: int) -> list[str]:
    if not failed:
        return ["", "Nothing to improve; see below for what is unknown."]
    shown = failed if len(failed) < most else failed[:most - 2]
    lines = ["", *(f"- **{one.first['priority']}** {name_of(one.first)}: {_said(one)}" for one in shown)]
    return lines + ([f"- and {count(len(failed) - len(shown), 'more thing')}"] if len(failed) > len(shown) else [])


def _said(one: Group) -> str:
    said = sentences(one.findings)
    return said[0] if said else f"{one.first['check']} is {one.actual}"


def _tail(document: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What the source lacks, and the commands that would print it."""
    lacking = lacking_line(document)
    wanted = asks(document["findings"])
    if lacking is None or not wanted:
        return [], []
    command = one_command(wanted)
    ask = [f"To judge more: `{command}`" + (" and `pvereport`" if any(
        one.command == "pvereport" for one in wanted) else "")] if command else []
    return ["", lacking], [*ask, f"Or everything: `{EVERYTHING}`"]


def mask(text: str, document: dict[str, Any]) -> str:
    """The text with everything masked that identifies the machine."""
    facts = document["facts"]
    names = {document["host"], value(facts["identity"]["hostname"])}
    guests = facts.get("guests", {})
    for kind in ("vms", "containers"):
        names |= {guest.get("name") for guest in value(guests.get(kind), []) if isinstance(guest, dict)}
    words = sorted((name for name in names if isinstance(name, str) and len(name) > 2), key=len, reverse=True)
    for name in words:
        text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", MASKED, text)
    for form in _FORMS:
        text = form.sub(MASKED, text)
    return _GUESTS.sub(MASKED, text)
