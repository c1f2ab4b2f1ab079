# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What a run changed, as a section of system-improve.md: before and after of every tunable, and how to make it last."""
from __future__ import annotations

from typing import Any

from ._text import code, count, escape, one_line, show, table


def change_section(run: dict[str, Any]) -> list[str]:
    """`run` is `{run_id, time, planned, changes}`: the plan's changes, and those that the setters returned."""
    changes = run["changes"] + [change for change in run["planned"] if change["outcome"] == "skipped"]
    lines = [f"## What run {code(run['run_id'])} changed", "", f"{run['time']}: {escape(outcome_counts(changes))}.", ""]
    if not changes:
        return lines
    rows = [[code(change["address"]), code(show(change["before"])), code(show(change["wanted"])),
             code(show(change["after"])), change["outcome"], escape(change.get("reason") or "")] for change in changes]
    lines += [*table(("tunable", "before", "wanted", "after", "outcome", "reason"), rows), ""]
    return lines + _lasting(changes, run["planned"])


def outcome_counts(changes: list[dict]) -> str:
    """`11 changed, 2 refused, 1 skipped`; `nothing to change` for none."""
    tally: dict[str, int] = {}
    for change in changes:
        tally[change["outcome"]] = tally.get(change["outcome"], 0) + 1
    return ", ".join(f"{number} {outcome.replace('_', ' ')}" for outcome, number in tally.items()) or "nothing to change"


def _lasting(changes: list[dict], planned: list[dict]) -> list[str]:
    """The text for sysctl.d, tmpfiles.d or udev of what was changed. It is shown, never written."""
    changed = {change["address"] for change in changes if change["outcome"] == "changed"}
    texts = dict.fromkeys(line.rstrip() for plan in planned if plan["address"] in changed
                          for line in (plan.get("persist") or "").strip().splitlines())
    if not texts:
        return []
    return [f"{count(len(changed), 'change')} will be gone after the next boot or reset. To keep them:", "", "```text",
            *(one_line(line) for line in texts), "```", ""]
