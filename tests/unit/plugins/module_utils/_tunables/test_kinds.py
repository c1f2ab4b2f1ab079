# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts and setters read a tunable by one reader, and take the same names and values."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.tunables import read_named
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.guest_affinity import GuestAffinityKind
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.kmod import ModuleKind
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.maxreadreq import MaxReadRequestKind
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.sysctl import SysctlKind
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.sysfs import SysfsKind
from ansible_collections.gpuhost.tuning.plugins.module_utils._tunables.kinds import KINDS

from hosts.movable import movable
from hosts.pci import plant_gpu, plant_root_port

GPU = "0000:01:00.0"
SETTERS = {"sysctl": SysctlKind, "sysfs": SysfsKind, "pcie_maxreadreq": MaxReadRequestKind, "module": ModuleKind,
           "guest_affinity": GuestAffinityKind}


@pytest.mark.parametrize("address, status, value", [
    ("sysctl:vm.stat_refresh", "denied", None),                 # a read of it makes every CPU fold its counters
    ("sysctl:vm.drop_caches", "denied", None),
    ("sysctl:vm.swappiness", "ok", "60"),
    ("sysctl:kernel.sched_latency_ns", "absent", None),
    ("sysfs:/sys/kernel/mm/transparent_hugepage/enabled", "ok", "madvise"),
    ("sysfs:/sys/kernel/mm/lru_gen/enabled", "ok", "0x0007"),
    ("sysfs:/sys/bus/pci/devices/0000:01:00.0/rom", "denied", None),
    (f"pcie_maxreadreq:{GPU}", "ok", 512),
    ("module:nvidia_peermem", "ok", "absent"),
    ("module:gdrdrv", "unparsable", None),                      # it is being loaded
    ("guest_affinity:vm:200", "ok", "0-7"),
    ("guest_affinity:lxc:101", "ok", "0-7"),
    ("guest_affinity:lxc:102", "absent", None),
])
def test_facts_and_setter_read_the_same(tree, host, address, status, value):
    movable(tree)
    tree.sysctl("vm.stat_refresh", 0).sysctl("vm.drop_caches", 0).sysctl("vm.swappiness", 60)
    tree.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    tree.file("/sys/kernel/mm/lru_gen/enabled", "0x0007")
    tree.file("/sys/module/gdrdrv/initstate", "coming")
    tree.file("/proc/modules", "gdrdrv 16384 0 - Loading 0x0000000000000000")
    plant_gpu(tree, GPU, parent=plant_root_port(tree, "0000:00:01.1"))
    kind, _colon, name = address.partition(":")
    facts = read_named(host, [address])[address]
    setter = SETTERS[kind](host).find(name)[0].read()
    assert (facts.status, facts.value) == (status, value)
    assert setter == facts


@pytest.mark.parametrize("kind, name, spec", [
    ("sysctl", "swappiness", "10"), ("sysctl", "vm.swappiness", True), ("sysfs", "kernel/mm/ksm/run", "0"),
    ("sysfs", "/sys/kernel/mm/ksm/run", {"at_least": 1}), ("pcie_maxreadreq", "41:00.0", 512),
    ("pcie_maxreadreq", GPU, 500), ("pcie_maxreadreq", GPU, "512.0"), ("module", "a b", "present"),
    ("module", "gdrdrv", "loaded"), ("guest_affinity", "lxc:101", ""), ("guest_affinity", "101", "0-3"),
    ("guest_affinity", "vm:99", "0-3"),
])
def test_what_no_kind_takes_is_refused_with_and_without_a_machine(host, kind, name, spec):
    with pytest.raises(ValueError):
        KINDS[kind].parse(name, spec)
    with pytest.raises(ValueError):
        SETTERS[kind](host).parse(name, spec)


def test_every_setter_is_of_a_known_kind():
    assert {name: setter.name for name, setter in SETTERS.items()} == {name: name for name in KINDS}
