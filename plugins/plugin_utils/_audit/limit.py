# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The limit of an audit: which findings, unless waived, have its priority or a higher one."""
from __future__ import annotations

from typing import Any

from .._checks.findings import PRIORITIES, to_do
from .._checks.things import things
from .._render.text import count


def gate(findings: list[dict[str, Any]], limit: str) -> dict[str, Any]:
    """`{limit, exceeded, things, checks}` for the result of the task; `limit` is null if none was set."""
    worst = PRIORITIES[:PRIORITIES.index(limit) + 1] if limit else ()
    found = things(finding for finding in to_do(findings) if finding["priority"] in worst)
    return {"limit": limit or None, "exceeded": bool(found), "things": len(found),
            "checks": list(dict.fromkeys(members[0]["check"] for members in found))}


def message(gate: dict[str, Any], variable: str, report: str) -> str:
    """Why the task failed. `variable` is the one that set the limit."""
    return (f"{variable}={gate['limit']}: {count(gate['things'], 'thing')} to do of priority {gate['limit']} or above: "
            f"{', '.join(gate['checks'])}. See {report}")
