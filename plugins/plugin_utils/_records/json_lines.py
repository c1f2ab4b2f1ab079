# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""findings.jsonl: one line per finding, for programs that read many hosts."""
from __future__ import annotations

import json
from typing import Any

_KEPT = ("check", "subject", "topic", "title", "verdict", "priority", "actual", "recommended", "reason", "evidence")


def findings_lines(document: dict[str, Any], run_id: str | None) -> str:
    """The findings of one host, one per line. Text is escaped to ASCII, so that no Unicode line separator can end a
    line early."""
    head = {"host": document["host"], "run_id": run_id, "collected_at": document["collected_at"],
            "profile": document["profile"]}
    encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
    return "".join(encode(head | _short(finding)) + "\n" for finding in document["findings"])


def _short(finding: dict[str, Any]) -> dict[str, Any]:
    # Only failing findings say what is wrong and what it costs; users' checks may lack these texts.
    return {name: finding[name] for name in _KEPT} | {
        "name": finding.get("name"), "problem": finding.get("problem"), "effect": finding.get("effect"),
        "waived": bool(finding["waived"]), "fix": finding["fix"]["class"], "planned": finding["fix"]["planned"],
        "measured_here": finding.get("measured_here", [])}
