# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Eleven sysctls of this machine in check mode with diff: one task, against a loop over ansible.posix.sysctl."""
from __future__ import annotations

import pathlib

from measure import Command, Cost, in_turns, table
from playbook import play

from ansible_run import Controller

HERE = pathlib.Path(__file__).resolve().parent
# Numbers that every kernel has, each of them free to be one more than it is.
KEYS = ("vm.swappiness", "vm.dirty_ratio", "vm.dirty_background_ratio", "vm.max_map_count", "vm.stat_interval",
        "net.core.rmem_max", "net.core.wmem_max", "net.core.rmem_default", "net.core.wmem_default",
        "net.core.netdev_max_backlog", "net.core.somaxconn")
START, LOOP, ONE = "no task", "a loop over ansible.posix.sysctl", "one sysctl_snapshot"


def measure(controller: Controller, rounds: int) -> str:
    """Whole playbooks, and what is left of them without what a playbook without a task takes."""
    wanted = {key: str(int(pathlib.Path("/proc/sys", *key.split(".")).read_text()) + 1) for key in KEYS}
    costs = in_turns({
        START: tune(controller, "sysctls_none.yml", wanted),
        LOOP: tune(controller, "sysctls_loop.yml", wanted, "changed: [here] => (item="),
        ONE: tune(controller, "sysctls_one_task.yml", wanted, "+sysctl:"),
    }, rounds)
    tasks = {name: Cost(*(whole - start for whole, start in zip(costs[name], costs[START]))) for name in (LOOP, ONE)}
    return "\n".join([
        table(f"{len(KEYS)} sysctls in check mode with diff, the tasks", tasks, LOOP,
              "at most 0.25 of the loop, then 0.20"),
        table("The same, whole playbooks", costs, LOOP, "none, as ansible-playbook has to start in either case")])


def tune(controller: Controller, playbook: str, wanted: dict[str, str], sign: str = "") -> Command:
    """A playbook that foretells a change of every key, one `sign` in its output for each."""
    def check(output: str) -> None:
        if sign and output.count(sign) != len(wanted):
            raise SystemExit(f"{playbook} does not foretell {len(wanted)} changes:\n{output}")

    variables = {"wanted": wanted, "sysctl_file": str(controller.folder / "sysctl.conf")}
    return play(controller, HERE / playbook, {"here": None}, "--check", "--diff", variables=variables, check=check)
