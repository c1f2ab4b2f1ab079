# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Helpers for readers of findings: which of them are left to do, and the value of a reading."""
from __future__ import annotations

from typing import Any

PRIORITIES = ("P0", "P1", "P2", "info")
VERDICTS = ("fail", "unknown", "pass", "not_applicable")


def to_do(findings: list[dict]) -> list[dict]:
    """The failing findings without a waiver."""
    return [finding for finding in findings if finding["verdict"] == "fail" and not finding["waived"]]


def gpu_addresses(facts: dict[str, Any]) -> set[str]:
    return {gpu["bdf"] for gpu in value(facts.get("gpus"), [])}


def value(reading: Any, otherwise: Any = None) -> Any:
    """The value of a fact that may be a reading: any fact may be one if a recording lacks it."""
    if isinstance(reading, dict) and {"status", "value"} <= set(reading) <= {"status", "value", "why"}:
        return reading["value"] if reading["status"] == "ok" else otherwise
    return otherwise if reading is None else reading
