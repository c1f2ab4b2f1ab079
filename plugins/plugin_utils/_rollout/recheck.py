# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Recheck a host that was changed earlier: whether it still has the values of the run, and is as healthy as before."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._plan import health
from .._render.text import show


def harm(before: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """Devices that are worse than in `before`, the record before.json of the run."""
    return [f"{entry['device']}: {entry['what']}" for entry in health.triggers(before["guard"], health.observe(facts))]


def drift(changed: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """The values in `changed` (left by the run, by address) that differ now or cannot be read any more."""
    found = []
    for address, left in changed.items():
        reading = facts["tunables"].get(address) or {"status": "absent", "value": None}
        if reading["status"] != "ok":
            found.append(f"{address}: was set to {show(left)}, and is not readable now: {reading['status']}")
        elif str(reading["value"]).split() != str(left).split():
            found.append(f"{address}: was set to {show(left)}, and is {show(reading['value'])} now")
    return found
