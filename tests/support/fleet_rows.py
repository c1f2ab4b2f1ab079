# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet in memory, from audit documents."""
from __future__ import annotations

from collections.abc import Iterable

RUN = "20261129T183000Z-4f2a"


def fleet_of(documents: Iterable[dict]):
    """The fleet as if collected from a folder; every fourth host has a run and drift."""
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.fleet import Fleet
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.guests import joined
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.outliers import outliers
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.row import about_checks, fleet_row

    hosts, checks = {}, {}
    for number, document in enumerate(documents):
        row = fleet_row(document)
        for check, about in about_checks(document).items():
            checks.setdefault(check, about)
        audit = {"run_id": RUN, "stage": "after", "at": document["collected_at"], "profile": "inference", "unknown": 1,
                 **{name: row[name] for name in ("failing", "things", "places")}, "said": ""}
        first = document["findings"][0]["check"]
        hosts[document["host"]] = row | {
            "since": "2026-11-28T18:30:00Z" if number % 4 == 0 else None, "audits": [audit] * 10,
            "drift": [{"check": first, "subject": "", "was": ["pass", "10"], "now": ["fail", str(number)]}]
            if number % 4 == 0 else [], "runs": [_run(number)] if number % 4 == 0 else []}
    return Fleet(hosts, checks, outliers(hosts), {}, _rollout(list(hosts)), tuple(joined(hosts)))


def _rollout(hosts: list[str]) -> dict:
    states = [[host, "1", "changed", ""] for host in hosts]
    return {"run_id": RUN, "ended": "stopped after batch 1",
            "hosts": [*states, ["<b>lost</b>", "1", "unreachable", "no route to host"]]}


def _run(number: int) -> dict:
    changes = [[f"pcie_maxreadreq:0000:{bus:02x}:00.0", "512", "4096", "4096", "changed", ""] for bus in range(30)]
    changes.append(["sysctl:vm.swappiness", "60", "10", str(number), "refused", f"read back {number}"])
    return {"id": RUN, "state": "finished", "outcomes": {"changed": 30, "refused": 1}, "harm": [], "changes": changes}
