# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What forty containers on a host with 256 CPUs cost: accesses to files, and the size of the record."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import guests as pve_guests
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve.guest_details import read_details
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import write_audit

from hosts.crowded import CONTAINERS, crowded
from hosts.tree import Tree
from verdicts import judged

MB = 1_000_000


class Counting(Host):
    """Counts how often a path of the host is looked up, as every access does, and remembers which."""

    def __init__(self, sysroot):
        self.paths = []
        super().__init__(sysroot)

    def local(self, path):
        self.paths.append(path)
        return super().local(path)


def looked_up(root, containers, running):
    host = Counting(str(crowded(Tree(root), containers, running=running).root))
    guests = pve_guests.read(host)
    details = read_details(host, guests)
    assert len(guests["containers"].value) == containers and details["device_nodes"]
    return host.paths


@pytest.mark.parametrize("running, each", [(False, 1), (True, 2)])
def test_a_container_costs_its_configuration_and_whether_it_runs(tmp_path, running, each):
    """Nothing is read once for every container that is the same for all: device nodes, majors, units."""
    few, many = (looked_up(tmp_path / str(number), number, running) for number in (8, CONTAINERS))
    assert len(many) - len(few) == each * (CONTAINERS - 8)
    assert len(few) - each * 8 <= 25
    assert max(many.count(path) for path in many if path.startswith("/etc/pve/local/lxc/")) == 1


def test_the_record_stays_small(facts_of, tmp_path):
    facts = facts_of(crowded)
    write_audit(tmp_path / "audit.json", {"facts": facts, "findings": list(judged(facts).values())})
    assert (tmp_path / "audit.json").stat().st_size < 1.4 * MB


def test_every_container_has_its_finding(facts_of):
    found = judged(facts_of(crowded))
    verdicts = [found["lxc_gpu_access", f"lxc:{101 + number}"]["verdict"] for number in range(CONTAINERS)]
    assert verdicts == ["fail", "pass"] * 20
    assert found["lxc_gpu_access", "lxc:106"]["reason"] == "uses 0000:f5:00.0"      # /dev/nvidia5
