# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""A host that was changed a while ago, rechecked: is it still as the run left it, and as healthy as before it."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._plan import health
from .._render.text import show


def harm(before: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """What is worse on a device than `before`, the record before.json of the run."""
    return [f"{entry['device']}: {entry['what']}" for entry in health.triggers(before["guard"], health.observe(facts))]


def drift(changed: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """Which of `changed`, the values that the run left by address, are others now, or cannot be read any more."""
    found = []
    for address, left in changed.items():
        reading = facts["tunables"].get(address) or {"status": "absent", "value": None}
        if reading["status"] != "ok":
            found.append(f"{address}: was set to {show(left)}, and is not readable now: {reading['status']}")
        elif str(reading["value"]).split() != str(left).split():
            found.append(f"{address}: was set to {show(left)}, and is {show(reading['value'])} now")
    return found
