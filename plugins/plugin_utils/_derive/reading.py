# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Access to readings in facts (plain JSON), and creation of derived values that are readings."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def value(reading: dict[str, Any]) -> Any:
    """The value of `{status, value}`, None if the status is not ok."""
    return reading["value"] if reading["status"] == "ok" else None


def known(derived: Any) -> dict[str, Any]:
    """A derived value as a reading."""
    return {"status": "ok", "value": derived}


def lost(status: str, why: str | None = None) -> dict[str, Any]:
    """A derived value that is not available: an expression that uses it is unknown, with this status or sentence."""
    return {"status": status, "value": None} if why is None else {"status": status, "value": None, "why": why}


def hidden(readings: Iterable[dict[str, Any]]) -> str | None:
    """The status of the first reading that is neither ok nor absent; None if there is none."""
    return next((reading["status"] for reading in readings if reading["status"] not in ("ok", "absent")), None)
