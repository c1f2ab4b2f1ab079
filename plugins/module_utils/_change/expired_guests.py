# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Leave out of a restore the guests that were restarted or stopped since their CPUs were set: nothing of it is left."""
from __future__ import annotations

from typing import Any

from .._host.host import Host
from .._tunables.guest_affinity import why_expired
from .baseline import Plan

KIND = "guest_affinity"


def leave_expired(host: Host, plan: Plan) -> tuple[Plan, list[dict[str, Any]]]:
    """The plan without them, and `[{address, expected, reason}]`."""
    planned = {**plan.restore.get(KIND, {}), **plan.expected.get(KIND, {})}
    reasons = {name: why_expired(host, name, value.get("identity")) for name, value in planned.items()}
    expired = {name: reason for name, reason in reasons.items() if reason is not None}
    left = plan._replace(restore=_without(plan.restore, expired), expected=_without(plan.expected, expired))
    return left, [{"address": f"{KIND}:{name}", "expected": plan.expected.get(KIND, {}).get(name, {}).get("set"),
                   "reason": reason} for name, reason in expired.items()]


def _without(values: dict[str, dict[str, dict]], names: dict[str, str]) -> dict[str, dict[str, dict]]:
    kept = {kind: {name: value for name, value in named.items() if kind != KIND or name not in names}
            for kind, named in values.items()}
    return {kind: named for kind, named in kept.items() if named}
