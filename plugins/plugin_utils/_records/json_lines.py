# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""findings.jsonl: one line per finding, for programs that read many hosts."""
from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
# An encoder's call costs more than the text of a short value.
_CONSTANTS = {id(None): "null", id(True): "true", id(False): "false"}


class _Texts(dict):
    """The JSON of each text, encoded once: the findings of a check share most of theirs."""

    def __missing__(self, text: str) -> str:
        self[text] = encoded = _encode(text)
        return encoded


def findings_lines(document: dict[str, Any], run_id: str | None) -> str:
    """The findings of one host, one per line. Text is escaped to ASCII, so that no Unicode line separator can end a
    line early."""
    head = _encode({"host": document["host"], "run_id": run_id, "collected_at": document["collected_at"],
                    "profile": document["profile"]}).removesuffix("}")
    texts = _Texts()

    def json_of(value: Any) -> str:
        if isinstance(value, str):
            return texts[value]
        return _CONSTANTS.get(id(value)) or (_encode(value) if value != [] else "[]")

    return "".join([f"{head},{_entries(finding, json_of)}}}\n" for finding in document["findings"]])


def _entries(finding: dict[str, Any], json_of: Callable[[Any], str]) -> str:
    fix = finding["fix"]
    # Only failing findings say what is wrong and what it costs; users' checks may lack these texts.
    return (
        f'"check":{json_of(finding["check"])},"subject":{json_of(finding["subject"])},'
        f'"topic":{json_of(finding["topic"])},"title":{json_of(finding["title"])},'
        f'"verdict":{json_of(finding["verdict"])},"priority":{json_of(finding["priority"])},'
        f'"actual":{json_of(finding["actual"])},"recommended":{json_of(finding["recommended"])},'
        f'"reason":{json_of(finding["reason"])},"evidence":{json_of(finding["evidence"])},'
        f'"name":{json_of(finding.get("name"))},"problem":{json_of(finding.get("problem"))},'
        f'"effect":{json_of(finding.get("effect"))},"waived":{json_of(bool(finding["waived"]))},'
        f'"fix":{json_of(fix["class"])},"planned":{json_of(fix["planned"])},'
        f'"measured_here":{json_of(finding.get("measured_here", []))}')
