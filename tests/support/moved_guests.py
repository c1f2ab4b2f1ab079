# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the kind guest_affinity set and restored on a planted node, with a fake of sched_setaffinity(2)."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change import baseline
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import read_journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import set_values
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.guest_affinity import GuestAffinityKind

from hosts.faulty import FaultyHost
from hosts.movable import CONTAINER, VM_PID, TreeScheduler, movable


class Killed(BaseException):
    """The run is killed."""


class MovedGuests:
    def __init__(self, tree):
        self.host = FaultyHost(str(movable(tree).root))
        self.scheduler = TreeScheduler(tree)
        self.tree = tree

    def change(self, values, **options):
        """Set values and return the one change."""
        kind = GuestAffinityKind(self.host, self.scheduler)
        [found] = set_values(kind, self.host, values, [], **options)["changes"]
        return found

    def _writes(self):
        return baseline.pair_lines(read_journal(self.host).value)

    def restore(self):
        return self.change(baseline.plan_back(self._writes(), "boot-1").restore["guest_affinity"])

    def open_generations(self):
        """The addresses that are not at their baseline."""
        return [line["address"] for line in baseline.list_baselines(self._writes(), "boot-1")]

    def affinities(self):
        """The CPUs of VM 200 as the planted kernel has them, by thread."""
        return {int(path.parent.name): path.read_text().split("Cpus_allowed_list:\t")[1].split("\n")[0]
                for path in self.tree.path(f"/proc/{VM_PID}/task").glob("*/status")}

    def groups(self):
        """The files of container 101, byte for byte: of the outer and of the inner control group."""
        return [self.host.read_bytes(f"{CONTAINER}{path}/cpuset.cpus") for path in ("", "/ns")]

    def kill_after(self, moves):
        """A run that ends between the start of a write and its end, after some threads were moved."""
        def die():
            if len(self.scheduler.moved) == moves:
                raise Killed

        self.scheduler.after = die
        with pytest.raises(Killed):
            self.change({"vm:200": "0-3"})
        self.scheduler.after = lambda: None
