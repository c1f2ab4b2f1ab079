# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What every reader of findings asks of them: their order, which are left to do, the value of a reading."""
from __future__ import annotations

from typing import Any

PRIORITIES = ("P0", "P1", "P2", "info")
VERDICTS = ("fail", "unknown", "pass", "not_applicable")


def to_do(findings: list[dict]) -> list[dict]:
    """What fails and nobody has waived."""
    return [finding for finding in findings if finding["verdict"] == "fail" and not finding["waived"]]


def gpu_addresses(facts: dict[str, Any]) -> set[str]:
    return {gpu["bdf"] for gpu in value(facts.get("gpus"), [])}


def value(reading: Any, otherwise: Any = None) -> Any:
    """The value of a fact that may be a reading, as any may that a recording does not have."""
    if isinstance(reading, dict) and {"status", "value"} <= set(reading) <= {"status", "value", "why"}:
        return reading["value"] if reading["status"] == "ok" else otherwise
    return otherwise if reading is None else reading
