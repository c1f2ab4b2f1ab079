# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every fix at run time of the catalogue, on a planted host: made, seen by the check, and taken back.

A check that is added to the catalogue is tested here by itself. If the host that hosts/runtime.py plants for it does
not fail it, the test says so: plant one that does.
"""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.baseline import pair_lines, plan_back
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import read_journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.moment import BOOT_ID
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import set_values
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.kmod import ModuleKind
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import asked_tunables, shipped
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan.plan import plan

from hosts.runtime import Programs, planted
from hosts.setters import KINDS, file_bytes
from hosts.tree import Tree
from verdicts import judged

CHECKS = sorted(check.id for check in shipped() if check.fix.kind == "runtime")
# A kernel prints all words and brackets the chosen one; of a planted file that was written the word alone is left.
BRACKETED = ("transparent_hugepage/enabled", "transparent_hugepage/defrag", "transparent_hugepage/shmem_enabled",
             "transparent_hugepage/hugepages-2048kB/enabled", "pcie_aspm/parameters/policy")


class Machine:
    """A planted host of one's own, with the kinds that set something on it."""

    def __init__(self, folder, plant):
        self.tree = Tree(folder)
        plant(self.tree)
        self.host = Host(str(self.tree.root))

    def findings(self, check):
        """By subject. What only the user can know is said in favour of the change."""
        self.facts = collect(Host(str(self.tree.root)), asked_tunables(shipped()))
        found = judged(self.facts, "full", only=[check], include=[check], dedicated=True, allow_busy=True)
        return {subject: finding for (_check, subject), finding in found.items()}

    def set(self, values, kinds=("sysctl", "sysfs", "module", "pcie_maxreadreq")):
        return [change for name in kinds if values.get(name)
                for change in set_values(self._kind(name), self.host, values[name], [])["changes"]]

    def restore(self):
        lines = pair_lines(read_journal(self.host).value)
        back = plan_back(lines, self.host.read(BOOT_ID).value)
        assert back.left_alone == []
        return self.set(back.restore, ("pcie_maxreadreq", "module", "sysfs", "sysctl"))

    def _kind(self, name):
        return ModuleKind(self.host, Programs(self.tree)) if name == "module" else KINDS[name](self.host)


@pytest.fixture
def machine(tmp_path, request):
    return Machine(tmp_path / "host", planted(request.node.callspec.params["check"]))


@pytest.mark.parametrize("check", CHECKS)
def test_a_fix_is_applied_and_restored(machine, check):
    before, found = file_bytes(machine.tree.root, BRACKETED), machine.findings(check)
    failing = {subject for subject, finding in found.items() if finding["verdict"] == "fail"}
    assert failing, f"no planted host fails {check}: name one in tests/hosts/runtime.py"
    planned = plan(found.values(), facts=machine.facts)
    assert [change["reason"] for change in planned.skipped if change["subject"] in failing] == []

    done = machine.set(planned.values)
    assert {change["address"]: change["outcome"] for change in done} == dict.fromkeys(
        (change["address"] for change in planned.planned), "changed")
    assert all(finding["verdict"] == "pass" for subject, finding in machine.findings(check).items()
               if subject in failing)
    assert file_bytes(machine.tree.root) != before

    assert {change["outcome"] for change in machine.restore()} in ({"changed"}, {"changed", "unchanged"})
    again = machine.findings(check)
    assert {subject: (one["verdict"], one["actual"]) for subject, one in again.items()} == {
        subject: (one["verdict"], one["actual"]) for subject, one in found.items()}
    assert file_bytes(machine.tree.root, BRACKETED) == before
    assert machine.restore() == []


def test_all_runtime_checks_are_tried():
    assert {"pcie_maxreadreq", "nvidia_peermem", "swappiness", "cpu_epp"} <= set(CHECKS)
