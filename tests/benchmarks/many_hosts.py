# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit playbook over many hosts, against a playbook with one ping task."""
from __future__ import annotations

import pathlib

from measure import Command, in_turns, table
from playbook import play

from ansible_run import Controller
from checkout import REPOSITORY
from hosts.story_before import story_before
from hosts.tree import Tree

HERE = pathlib.Path(__file__).resolve().parent
HOSTS = 20


def measure(controller: Controller, rounds: int) -> str:
    planted = story_before(Tree(controller.folder / "story"))
    commands = {
        "ping": play(controller, HERE / "ping.yml", {f"host{number}": None for number in range(HOSTS)}),
        "audit of this machine": audit(controller, None),
        "audit of a planted 8-GPU host": audit(controller, planted),
    }
    return table(f"{HOSTS} local hosts, one playbook", in_turns(commands, rounds), "ping",
                 "at most 1.50 times ping, then 1.10")


def audit(controller: Controller, host: Tree | None) -> Command:
    def check(_output: str) -> None:
        written = len(list(controller.reports.glob("*/audit.json")))
        if written != HOSTS:
            raise SystemExit(f"the audit wrote {written} records, not {HOSTS}")

    variables = {"gpuhost_become": False, "gpuhost_report_dir": str(controller.reports)}
    return play(controller, REPOSITORY / "playbooks" / "audit.yml",
                {f"host{number}": host for number in range(HOSTS)}, variables=variables, check=check)
