# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""history.json of a host: a summary of its last audits, and drift since the previous run."""
from __future__ import annotations

import pathlib
from typing import Any

from .._render.text import clean, one_line, show
from . import host_folder

SCHEMA_HISTORY = "gpuhost.history/1"
KEPT_AUDITS = 30
VERIFY = "verify"
_LONGEST = 160


def read(path: pathlib.Path) -> dict[str, Any]:
    """The history at `path`; a new one if there is none or it cannot be read."""
    try:
        history = host_folder.read_json(path)
    except host_folder.RecordError:
        history = None
    if not isinstance(history, dict) or history.get("schema") != SCHEMA_HISTORY:
        return {"schema": SCHEMA_HISTORY, "run_id": None, "since": None, "drift": [], "audits": [], "seen": {}}
    return history


def add(history: dict[str, Any], document: dict[str, Any], run_id: str, stage: str) -> dict[str, Any]:
    """The history with this audit added.

    A run may audit a host twice, before and after it changes something. Drift is the difference between its first audit
    and the last one of the previous run: changes by something else, never by the run itself.
    """
    seen = snapshot(document["findings"])
    started = history["run_id"] != run_id
    audit = {"run_id": run_id, "stage": stage, "at": document["collected_at"], "profile": document["profile"],
             **{name: document["summary"][name] for name in ("failing", "things", "places")},
             "unknown": document["summary"]["verdicts"]["unknown"],
             "said": ""}
    last = [one["at"] for one in history["audits"] if one["stage"] != VERIFY][-1:]
    return {
        "schema": SCHEMA_HISTORY, "run_id": run_id,
        "since": (last[0] if last else None) if started else history["since"],
        "drift": drift(history["seen"], seen) if started else history["drift"],
        "audits": [*history["audits"], audit][-KEPT_AUDITS:], "seen": seen,
    }


def verified(history: dict[str, Any], run_id: str | None, at: str, message: str) -> dict[str, Any]:
    """The history with a verify added; a verify evaluates no checks, so snapshot and drift stay."""
    entry = {"run_id": run_id or "", "stage": VERIFY, "at": at, "profile": "", "failing": {}, "things": {},
             "places": {}, "unknown": 0, "said": message}
    return {**history, "audits": [*history["audits"], entry][-KEPT_AUDITS:]}


def snapshot(findings: list[dict[str, Any]]) -> dict[str, dict[str, list]]:
    """`{check: {subject: [verdict, value, settable]}}`; the subject of the host itself is an empty string."""
    seen: dict[str, dict[str, list]] = {}
    for finding in findings:
        shown = one_line(show(finding["actual"]))[:_LONGEST]
        seen.setdefault(finding["check"], {})[clean(finding["subject"] or "")] = [
            finding["verdict"], shown, finding["fix"]["class"] == "runtime"]
    return seen


def drift(before: dict[str, dict[str, list]], now: dict[str, dict[str, list]]) -> list[dict[str, Any]]:
    """Differences in checks that are in both audits: an added or missing check is the user's selection, but an added or
    missing subject is a change of the host."""
    found = []
    for check in now:
        was = before.get(check, {})
        for subject in dict.fromkeys([*was, *now[check]]) if was else ():
            old, new = was.get(subject), now[check].get(subject)
            if _differs(old, new):
                found.append({"check": check, "subject": subject, "was": old and old[:2], "now": new and new[:2]})
    return found


def _differs(old: list | None, new: list | None) -> bool:
    if old is None or new is None:
        return old is not new
    if old[0] != new[0]:
        return True
    # A measured value that passes both times may fluctuate; a settable one does not change by itself.
    return old[1] != new[1] and (new[0] != "pass" or new[2])
