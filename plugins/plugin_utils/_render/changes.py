# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The changes of a run as a section of system-improve.md: each tunable before and after, and how to persist it."""
from __future__ import annotations

from collections import Counter
from typing import Any

from .text import clean, code, count, escape, show, table


def change_section(run: dict[str, Any]) -> list[str]:
    """The lines of the section.

    `run` is `{run_id, time, planned, changes, harm, notes}`: the plan's changes, those that the setters returned, and
    the health check's results; `kept`, if known, tells which of them are persisted: `{same, other}`."""
    changes = run["changes"] + [change for change in run["planned"] if change["outcome"] == "skipped"]
    lines = [f"## What run {code(run['run_id'])} changed", "", f"{run['time']}: {escape(outcome_counts(changes))}.", ""]
    lines += [f"> {escape(entry['device'])}: {escape(entry['what'])}. The run was rolled back."
              for entry in run["harm"]]
    lines += [f"- during the run: {escape(note)}" for note in run["notes"]]
    lines += [""] if run["harm"] or run["notes"] else []
    if not changes:
        return lines
    rows = [[code(change["address"]), code(show(change["before"])), code(show(change["wanted"])),
             code(show(change["after"])), change["outcome"], escape(change.get("reason") or "")] for change in changes]
    lines += [*table(("tunable", "before", "wanted", "after", "outcome", "reason"), rows), ""]
    return lines + _lasting(run, changes)


def change_lines(changes: list[dict]) -> list[str]:
    """One line per change, `sysctl:vm.swappiness: changed: 60 -> 10`; identical ones share a line with a count."""
    alike: dict[tuple, list[str]] = {}
    for change in changes:
        kind, _colon, name = change["address"].partition(":")
        alike.setdefault((kind, name.rpartition("/")[2] if kind == "sysfs" else name, _what(change)), []).append(
            change["address"])
    return [f"{addresses[0]}{f' and {len(addresses) - 1} more' if len(addresses) > 1 else ''}: {key[2]}"
            for key, addresses in alike.items()]


def _what(change: dict) -> str:
    outcome = change["outcome"].replace("_", " ")
    if change["outcome"] in ("changed", "would_change", "reverted"):
        after = change["wanted"] if change["after"] is None else change["after"]
        text = f"{outcome}: {show(change['before'])} -> {show(after)}"
    elif change["outcome"] == "refused":
        text = f"{outcome}: wanted {show(change['wanted'])}, found {show(change['after'] or change['before'])}"
    else:
        text = f"{outcome}: {show(change['before'])}" if change["outcome"] == "unchanged" else outcome
    return clean(f"{text}: {change['reason']}" if change.get("reason") else text)


def outcome_counts(changes: list[dict]) -> str:
    """`11 changed, 2 refused, 1 skipped`, or `nothing to change`."""
    tally = Counter(change["outcome"].replace("_", " ") for change in changes)
    return ", ".join(f"{number} {outcome}" for outcome, number in tally.items()) or "nothing to change"


def _lasting(run: dict[str, Any], changes: list[dict]) -> list[str]:
    """Which changes the next boot undoes, and the command that persists them."""
    kept = run.get("kept") or {"same": [], "other": {}}
    changed = [change["address"] for change in changes if change["outcome"] == "changed"]
    lost = [address for address in changed if address not in kept["same"] and address not in kept["other"]]
    lines = [f"- {code(address)} is persisted as {code(show(wanted))}, which comes back at the next boot"
             for address, wanted in kept["other"].items()]
    lines += [""] if lines else []
    if lost or kept["other"]:
        gone = f"{count(len(lost), 'change')} will be gone after the next boot or reset. " if lost else ""
        return [*lines, f"{gone}To keep what this run changed, with the words that name the hosts:", "", "```sh",
                f"ansible-playbook gpuhost.tuning.persist -e gpuhost_run_id={run['run_id']}", "```", ""]
    return [*lines, "What this run changed is persisted: it comes back at the next boot.", ""] if changed else lines
