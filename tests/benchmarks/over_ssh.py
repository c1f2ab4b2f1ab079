# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A playbook over a fleet of tests/fleet, what it took here and what it took on the hosts told apart."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from measure import Command, in_turns
from playbook import play

from ansible_run import Controller
from fleet import Fleet
from hosts.tree import Tree

HERE = pathlib.Path(__file__).resolve().parent
FORKS = 20
_TICKS = os.sysconf("SC_CLK_TCK")


class SshCost(NamedTuple):
    """Seconds on the clock, of processor time here and on the hosts; of ansible-playbook's own process its share of the
    processor time and MiB at the peak."""

    wall: float
    cpu: float
    target: float
    own: float
    peak: float


@contextlib.contextmanager
def fleet_of(folder: pathlib.Path, trees: Mapping[str, Tree], key_exchange: str | None) -> Iterator[Fleet]:
    fleet = Fleet(folder, trees, key_exchange)
    try:
        fleet.start()
        yield fleet
    finally:
        fleet.close()


class Meter:
    """Measures commands over one fleet; each begins without an open connection and ends without one."""

    def __init__(self, controller: Controller, fleet: Fleet) -> None:
        self.controller, self.fleet = controller, fleet
        self._result = controller.folder / "whole.json"

    def play(self, playbook: pathlib.Path, *words: str, hosts: int | None = None, **more: Any) -> Command:
        """`playbook` over the first `hosts` of the fleet."""
        return self.play_on(playbook, dict(list(self.fleet.inventory().items())[:hosts]), *words, **more)

    def play_on(self, playbook: pathlib.Path, some: Mapping[str, Any], *words: str, **more: Any) -> Command:
        """`playbook` over `some` hosts of the fleet's inventory."""
        command = play(self.controller, playbook, dict(some), *words, **more)
        return command._replace(environment={**command.environment, **self.fleet.environment(),
                                             "ANSIBLE_FORKS": str(FORKS)})

    def run(self, command: Command) -> tuple[SshCost, str]:
        command.prepare()
        before = self.on_the_hosts()
        cost, output = self.run_here(command)
        return cost._replace(target=self.on_the_hosts() - before), output

    def run_here(self, command: Command) -> tuple[SshCost, str]:
        """Run once; what it took on the hosts is left out."""
        done = subprocess.run([sys.executable, str(HERE / "whole.py"), str(self._result), *command.words],
                              env=dict(command.environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=True)
        took = json.loads(self._result.read_text())
        if took["status"] != 0:
            raise SystemExit(f"{' '.join(command.words)} ended with status {took['status']}:\n{done.stdout[-3000:]}")
        return SshCost(took["wall"], took["cpu"], 0.0, took["own"], took["rss_kib"] / 1024), done.stdout

    def in_turns(self, commands: Mapping[str, Command], rounds: int) -> dict[str, SshCost]:
        """The medians; none of the runs is one to warm up, as each makes hundreds of connections."""
        return in_turns(commands, rounds, self.run, warm_up=False)

    def on_the_hosts(self) -> float:
        """Processor time of the process behind the hosts and of all sessions, once none is open any more."""
        process = self.fleet.process
        while pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().strip():
            time.sleep(0.05)
        # utime, stime, cutime and cstime are fields 14 to 17 of proc_pid_stat(5), the name being the second
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICKS


def table(title: str, costs: Mapping[str, SshCost], base: str, *goals: str) -> str:
    """The medians, and their ratios to those of `base`."""
    lines = [title, f"  {'':34}{'wall':>9}{'ratio':>7}{'CPU here':>10}{'ratio':>7}{'on hosts':>10}{'ratio':>7}"
                    f"{'its own':>10}{'peak':>10}"]
    for name, cost in costs.items():
        ratios = [mine / its for mine, its in zip(cost, costs[base])]
        lines.append(f"  {name:34}{cost.wall:7.2f} s{ratios[0]:7.2f}{cost.cpu:8.2f} s{ratios[1]:7.2f}"
                     f"{cost.target:8.2f} s{ratios[2]:7.2f}{cost.own:8.2f} s{cost.peak:6.0f} MiB")
    return "\n".join([*lines, *(f"  goal: {goal}" for goal in goals), ""])
