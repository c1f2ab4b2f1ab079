# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run commands in turns and compare the medians of what they took."""
from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Cost(NamedTuple):
    """Seconds on the clock, and seconds of processor time of a command with everything it started and waited for."""

    wall: float
    cpu: float


class Command(NamedTuple):
    words: list[str]
    environment: Mapping[str, str]
    # Looks at the output of the first run; raises when the command did not do what is to be measured.
    check: Callable[[str], None] = lambda output: None
    # Done before each run, and not measured.
    prepare: Callable[[], None] = lambda: None


def run(command: Command) -> tuple[Cost, str]:
    """Run once. A command that fails stops the benchmark with what it said."""
    command.prepare()
    start = time.perf_counter()
    child = subprocess.Popen(command.words, env=dict(command.environment), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = child.stdout.read()
    _pid, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command.words)} ended with status {child.returncode}:\n{output[-3000:]}")
    return Cost(wall, usage.ru_utime + usage.ru_stime), output


def in_turns(commands: Mapping[str, Command], rounds: int, run: Callable[[Command], tuple[Any, str]] = run,
             warm_up: bool = True) -> dict[str, Any]:
    """The medians over `rounds`, with `warm_up` after one run each that does not count.

    One after the other in every round, so that what else the machine does meets all of them alike. `run` tells what a
    run cost, as a named tuple of numbers, and its output.
    """
    costs: dict[str, list[Any]] = {name: [] for name in commands}
    for number in range(rounds + warm_up):
        for name, command in commands.items():
            cost, output = run(command)
            if number == 0:
                command.check(output)
            if number >= warm_up:
                costs[name].append(cost)
    return {name: type(measured[0])(*(statistics.median(column) for column in zip(*measured)))
            for name, measured in costs.items()}


def table(title: str, costs: Mapping[str, Cost], base: str, goal: str) -> str:
    """The medians, and their ratios to those of `base`."""
    lines = [title, f"  {'':44}{'wall':>9}{'ratio':>7}{'CPU':>9}{'ratio':>7}"]
    for name, cost in costs.items():
        lines.append(f"  {name:44}{cost.wall:7.3f} s{cost.wall / costs[base].wall:7.2f}"
                     f"{cost.cpu:7.3f} s{cost.cpu / costs[base].cpu:7.2f}")
    return "\n".join([*lines, f"  goal: {goal}", ""])
