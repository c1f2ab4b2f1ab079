# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The fleet on a terminal: one table at the end of a run, hosts that need attention first."""
from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .._checks.findings import PRIORITIES
from .._render.text import clean, count
from .._rollout import rollout as rollout_state
from .._rollout.gate import describe

WIDTH = 100
_NARROWEST = 20    # characters, for a reason
SHOWN = 40      # hosts in a table; beyond that, hosts without problems are left out


def rollout_table(rollout: rollout_state.Rollout, states: Mapping[str, Mapping[str, Any]],
                  every: bool = False) -> list[str]:
    """The state of each host, with the reason unless it is fine."""
    batch = {host: str(number) for number, hosts in enumerate(rollout.batches, 1) for host in hosts}
    rows = [(host, batch.get(host, "-"), *_state(entry)) for host, entry in states.items()]
    fine = {host for host, entry in states.items() if entry["state"] in rollout_state.FINE}
    return ["", f"Rollout {rollout.run_id}: {how_it_ended(rollout)}",
            *_table(("host", "batch", "state", ""), _shown(rows, fine, every)),
            _tally(entry["state"].replace("_", " ") for entry in states.values())]


def _state(entry: Mapping[str, Any]) -> tuple[str, str]:
    state, _colon, reason = describe(entry).partition(": ")
    changed = entry.get("changed")
    return state, reason or (count(len(changed), "change") if changed else "")


def how_it_ended(rollout: rollout_state.Rollout) -> str:
    number = len(rollout.batches)
    if rollout.document["stopped"]:
        return f"stopped after batch {number}"
    if number and rollout.document["batches"][-1]["passed"] is None:
        return f"ended in batch {number}, before its gate"
    return f"completed all {count(len(rollout.document['hosts']), 'host')}" if rollout.is_last \
        else f"ended after batch {number}"


def audit_table(hosts: Mapping[str, Mapping[str, Any] | str], every: bool = False) -> list[str]:
    """The number of things to do, and of places, for each host. A host without a summary has the reason instead."""
    def row(host: str) -> tuple[str, ...]:
        found = hosts[host]
        if isinstance(found, str):
            return (host, *"------", found)
        return (host, *(str(found["things"][name]) for name in PRIORITIES), str(sum(found["places"].values())),
                str(found["verdicts"]["unknown"]), "")

    def weight(host: str) -> tuple:
        found = hosts[host]
        return (0, ()) if isinstance(found, str) else (1, tuple(-found["things"][name] for name in PRIORITIES))

    fine = {host for host, found in hosts.items()
            if not isinstance(found, str) and not any(found["things"].values()) and not found["verdicts"]["unknown"]}
    rows = [row(host) for host in sorted(hosts, key=weight)]
    lacking = sum(isinstance(found, str) for found in hosts.values())
    return ["", *_table(("host", *PRIORITIES, "places", "unknown", ""), _shown(rows, fine, every)),
            f"{count(len(hosts), 'host')}, {len(fine)} with nothing to improve, {lacking} without a result"]


def _shown(rows: Sequence[tuple[str, ...]], fine: set[str], every: bool) -> list[tuple[str, ...]]:
    return [row for row in rows if every or len(rows) <= SHOWN or row[0] not in fine]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of equal width; a reason too long for its line is wrapped, never truncated."""
    lines = [tuple(map(clean, row)) for row in [tuple(head), *rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    indent = sum(widths) + 2 * len(widths)
    return [text for line in lines for text in _row(line, widths, min(indent, WIDTH - _NARROWEST))]


def _row(line: Sequence[str], widths: Sequence[int], indent: int) -> list[str]:
    first, *rest = textwrap.wrap(line[-1], WIDTH - indent, break_on_hyphens=False) or [""]
    cells = [cell.ljust(width) for cell, width in zip(line, widths)]
    return ["  ".join([*cells, first]).rstrip(), *(" " * indent + text for text in rest)]


def _tally(words: Any) -> str:
    return ", ".join(f"{number} {word}" for word, number in Counter(words).most_common())
