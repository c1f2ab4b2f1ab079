# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit playbook over hosts that ssh reaches, reports included, against one ping and against a loop of sysctls."""
from __future__ import annotations

import json
import pathlib
import shutil

from measure import Command
from over_ssh import FORKS, HERE, Meter, fleet_of, table
from sysctls import KEYS

from ansible_run import Controller
from checkout import REPOSITORY
from hosts.story_before import story_before
from hosts.tree import Tree

PING, AUDIT, LOOP = "ping", "audit", "nine ansible.posix.sysctl"


def measure(controller: Controller, rounds: int, hosts: int = 100, key_exchange: str | None = None) -> str:
    with fleet_of(controller.folder / "fleet-audit", planted(controller, hosts), key_exchange) as fleet:
        meter = Meter(controller, fleet)
        costs = meter.in_turns({PING: meter.play(HERE / "ping.yml"), AUDIT: audit(meter, hosts)}, rounds)
    return table(f"{hosts} hosts with 8 GPUs over ssh, {FORKS} forks, reports included", costs, PING,
                 "at most 1.50 times ping, wall and CPU here, then 1.10")


def measure_loop(controller: Controller, rounds: int, hosts: int = 40, key_exchange: str | None = None) -> str:
    """The loop asks for nine values in check mode, which is all that it can tell of them."""
    wanted = {key: str(int(pathlib.Path("/proc/sys", *key.split(".")).read_text()) + 1) for key in KEYS[:9]}
    with fleet_of(controller.folder / "fleet-loop", planted(controller, hosts), key_exchange) as fleet:
        meter = Meter(controller, fleet)
        loop = meter.play(HERE / "sysctls_loop.yml", "--check",
                          variables={"wanted": wanted, "sysctl_file": "/run/sysctl.conf"})
        costs = meter.in_turns({LOOP: loop, AUDIT: audit(meter, hosts)}, rounds)
    return table(f"{hosts} hosts with 8 GPUs over ssh, against a loop", costs, LOOP, "at most 0.33 of the loop, wall")


def measure_scale(controller: Controller, rounds: int, hosts: int = 1000, key_exchange: str | None = None) -> str:
    """One run each of a tenth and of all of the hosts."""
    with fleet_of(controller.folder / "fleet-scale", planted(controller, hosts), key_exchange) as fleet:
        meter = Meter(controller, fleet)
        sizes = [hosts // 10, hosts]
        costs = {f"audit of {size}": meter.run(audit(meter, size))[0] for size in sizes}
    base = f"audit of {sizes[0]}"
    return table(f"Up to {hosts} hosts with 8 GPUs over ssh, one run each", costs, base,
                 "linear: at most 10 times", "at most 1024 MiB at the peak of ansible-playbook")


def planted(controller: Controller, hosts: int) -> dict[str, Tree]:
    """Hosts of one tree: an audit writes nothing to it."""
    folder = controller.folder / "planted"
    tree = Tree(folder) if folder.exists() else story_before(Tree(folder))
    return {f"h{number:04}": tree for number in range(1, hosts + 1)}


def audit(meter: Meter, hosts: int) -> Command:
    reports = meter.controller.reports

    def check(_output: str) -> None:
        records = list(reports.glob("*/audit.json"))
        gpus = {len(json.loads(record.read_text())["facts"]["gpus"]) for record in records[:3]}
        if len(records) != hosts or gpus != {8}:
            raise SystemExit(f"the audit wrote {len(records)} records, not {hosts}, of hosts with {gpus} GPUs")

    variables = {"gpuhost_report_dir": str(reports)}
    return meter.play(REPOSITORY / "playbooks" / "audit.yml", hosts=hosts, variables=variables, check=check,
                      prepare=lambda: shutil.rmtree(reports, ignore_errors=True))
