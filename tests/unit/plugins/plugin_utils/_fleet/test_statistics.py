# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.row import fleet_row
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.statistics import SHOWN_HOSTS, statistics

from audit_document import document, finding

WAIVED = {"reason": "ours", "expires": "2027-01-01"}
ROWS = {
    "a": fleet_row(document([finding("swappiness", "fail", priority="P2"), finding("ksm", "fail", priority="info")])),
    "b": fleet_row(document([finding("swappiness", "fail", priority="P2"),
                             finding("numa_balancing", "fail", priority="P1", waived=WAIVED)])),
    "other": fleet_row(document([finding("gpu_driver", "fail", priority="P0")])),
}


def test_of_the_hosts_of_this_play_alone():
    found = statistics("audit", None, ["a", "b", "c"], {"a": "ok", "b": "findings", "c": "unreachable"}, ROWS, "/page")
    assert (found["per_host"], found["aggregate"]) == (False, False)
    assert found["data"] == {"gpuhost_stats": {
        "playbook": "audit", "run_id": None, "hosts": 3, "states": {"ok": 1, "findings": 1, "unreachable": 1},
        "attention": ["b", "c"], "attention_hosts": 2, "things": {"P0": 0, "P1": 0, "P2": 2, "info": 1},
        "failing": {"swappiness": 2}, "page": "/page"}}


def test_names_of_a_large_fleet_are_cut_and_counted():
    hosts = [f"h{number}" for number in range(500)]
    states = dict.fromkeys(hosts, "refused")
    stats = statistics("tune_runtime", "20261129T183000Z-4f2a", hosts, states, {}, "/page")["data"]["gpuhost_stats"]
    assert (len(stats["attention"]), stats["attention_hosts"], stats["hosts"]) == (SHOWN_HOSTS, 500, 500)
    assert stats["run_id"] == "20261129T183000Z-4f2a"
