# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout of eleven changes over hosts that ssh reaches, against one ping."""
from __future__ import annotations

import json
import shutil

from over_ssh import FORKS, HERE, Meter, fleet_of, table
from sysctls import KEYS

from ansible_run import Controller
from checkout import REPOSITORY
from hosts.others import virtual_machine
from hosts.tree import Tree

PING, TUNE = "ping", "tune_runtime of eleven changes"
BATCH = 25
SMALL, LARGE = ("7", "11"), ("262144", "524288")     # before and after; what the network keeps has a lower limit
CHANGES = {key: LARGE if key.startswith("net.") or key == "vm.max_map_count" else SMALL for key in KEYS}


def measure(controller: Controller, rounds: int, hosts: int = 100, key_exchange: str | None = None) -> str:
    names = [f"h{number:04}" for number in range(1, hosts + 1)]
    trees = {name: virtual_machine(Tree(controller.folder / "tuned" / name)) for name in names}
    journals = [tree.path("/run/gpuhost") for tree in trees.values()]
    with fleet_of(controller.folder / "fleet-tune", trees, key_exchange) as fleet:
        meter = Meter(controller, fleet)

        def prepare() -> None:
            shutil.rmtree(controller.reports, ignore_errors=True)
            for journal in journals:
                shutil.rmtree(journal, ignore_errors=True)
            for tree in trees.values():
                for key, (before, _after) in CHANGES.items():
                    tree.sysctl(key, before)

        def check(_output: str) -> None:
            outcomes = [json.loads(path.read_text())["changes"] for path in controller.reports.glob("*/*/outcome.json")]
            changed = {sum(change["outcome"] == "changed" for change in changes) for changes in outcomes}
            if len(outcomes) != hosts or changed != {len(KEYS)}:
                raise SystemExit(f"{len(outcomes)} of {hosts} hosts were tuned, with {changed} changes each")

        variables = {"gpuhost_report_dir": str(controller.reports), "gpuhost_serial": BATCH, "gpuhost_soak_seconds": 0,
                     "gpuhost_values": {"sysctl": {key: after for key, (_before, after) in CHANGES.items()}}}
        costs = meter.in_turns({PING: meter.play(HERE / "ping.yml"), TUNE: meter.play(
            REPOSITORY / "playbooks" / "tune_runtime.yml", variables=variables, check=check, prepare=prepare),
        }, rounds)
    return table(f"{hosts} hosts over ssh, {FORKS} forks, batches of {BATCH}, no soak", costs, PING,
                 "at most 8 times ping, wall and CPU here")
