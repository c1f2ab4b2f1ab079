# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What 200 guests on one host cost: the audit of a Proxmox VE node with them, half of them containers, against the same
node without any."""
from __future__ import annotations

from measure import Command, in_turns, table
from playbook import play

from ansible_run import Controller
from checkout import REPOSITORY
from hosts.crowded import two_hundred_guests
from hosts.placed import no_guests
from hosts.tree import Tree


def measure(controller: Controller, rounds: int) -> str:
    commands = {name: audit(controller, plant(Tree(controller.folder / plant.__name__)))
                for name, plant in (("no guests", no_guests), ("200 guests", two_hundred_guests))}
    return table("An audit of one host, from start to report", in_turns(commands, rounds), "no guests",
                 "at most 1.10 times the host without guests")


def audit(controller: Controller, host: Tree) -> Command:
    variables = {"gpuhost_become": False, "gpuhost_report_dir": str(controller.reports)}
    return play(controller, REPOSITORY / "playbooks" / "audit.yml", {"pve": host}, variables=variables)
