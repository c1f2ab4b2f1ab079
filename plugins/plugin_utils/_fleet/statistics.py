# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Statistics of a play for workflows to branch on, in the form of set_stats."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .._checks.findings import PRIORITIES

NAME = "gpuhost_stats"
# Artifacts of a job are stored in a database and passed as variables: names beyond this number are in the records.
SHOWN_HOSTS = 100
_FINE = ("ok", "changed", "unchanged", "would_change", "waiting")


def statistics(playbook: str, run_id: str | None, hosts: Iterable[str], states: Mapping[str, str],
               rows: Mapping[str, Mapping[str, Any]], page: str) -> dict[str, Any]:
    """The value of `ansible_stats` in a task's result. `states` are the known ones of this play's hosts, `rows` those
    of all hosts on the page."""
    hosts = list(hosts)
    here = [rows[host] for host in hosts if host in rows]
    things = {name: sum(row["things"].get(name, 0) for row in here) for name in PRIORITIES}
    failing = Counter(check for row in here for check in _failing(row))
    attention = [host for host in hosts if host in states and states[host] not in _FINE]
    return {"data": {NAME: {
        "playbook": playbook, "run_id": run_id, "hosts": len(hosts), "states": dict(Counter(states.values())),
        "attention": attention[:SHOWN_HOSTS], "attention_hosts": len(attention), "things": things,
        "failing": dict(failing.most_common()), "page": page}}, "per_host": False, "aggregate": False}


def _failing(row: Mapping[str, Any]) -> set[str]:
    """The checks with something to do beyond a note."""
    return {check for check, verdict, priority, _actual, _wanted, _reason, _fix, waived, *_rest in row["findings"]
            if verdict == "fail" and not waived and priority != "info"}
