# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Parse the lines of a journal with arbitrary content: usable lines, and why the others are not.

A line from which no restore can be planned must not prevent the restore of everything else.
"""
from __future__ import annotations

import json
from typing import Any

from .._tunables.kinds import KINDS

START, END = "start", "end"
_TEXTS = ("run", "boot", "at", "identity", "outcome")      # or null
_SHOWN = 100            # lines that are reported one by one


def parse_lines(data: bytes) -> tuple[list[dict], list[dict]]:
    """Return the records in order, and `[{line, reason}]` of invalid lines, including a torn one.

    It is unknown whether the write of a torn line happened, or ended.
    """
    records, unusable = [], []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip(b" \t\r\0"):
            continue
        try:
            records.append(_record(line))
        except (ValueError, RecursionError) as why:
            unusable.append({"line": number, "reason": _reason(why)})
    if len(unusable) > _SHOWN:
        more = len(unusable) - _SHOWN
        unusable[_SHOWN:] = [{"line": unusable[_SHOWN]["line"], "reason": f"and {more} lines after it"}]
    return records, unusable


def _reason(why: Exception) -> str:
    if isinstance(why, RecursionError):
        return "it is nested too deep"
    return "it is not JSON" if isinstance(why, (json.JSONDecodeError, UnicodeDecodeError)) else str(why)[:200]


def _record(line: bytes) -> dict[str, Any]:
    """Parse one record. Raises ValueError for what a setter would not accept either."""
    record = json.loads(line)
    if not isinstance(record, dict) or record.get("event") not in (START, END):
        raise ValueError("it is not the start or the end of a write")
    address = record.get("address")
    kind, colon, name = address.partition(":") if isinstance(address, str) else ("", "", "")
    if kind not in KINDS or not colon:
        raise ValueError(f"{address!r:.80} is not the address of a tunable")
    KINDS[kind].check_name(name)
    for key in _TEXTS:
        if not isinstance(record.get(key), (str, type(None))):
            raise ValueError(f"{key} is no text")
    together = record.get("together", [])
    if not isinstance(together, list) or not all(isinstance(one, str) for one in together):
        raise ValueError("together is not a list of addresses")
    for key in ("wanted", "after") if record["event"] == END else ("before", "wanted", "after"):
        if record.get(key) is not None:
            KINDS[kind].parse_value(record[key])
    if record["event"] == START and record.get("before") is None:
        raise ValueError("it lacks the previous value")
    return record
