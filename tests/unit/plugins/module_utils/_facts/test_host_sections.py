# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sections about the host itself have the shape that their schemas promise, whatever the host."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot_order import managers as boot_managers
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import as_facts
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel import release
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel import sysctl as kernel_sysctl
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia import earlier_boots
from ansible_collections.gpuhost.tuning.plugins.module_utils._system import cpu, firmware, identity
from ansible_collections.gpuhost.tuning.plugins.module_utils._system import memory as system_memory
from ansible_collections.gpuhost.tuning.plugins.module_utils._system import network as system_network
from ansible_collections.gpuhost.tuning.plugins.module_utils._system import numa as system_numa

from facts_schema import problems
from hosts import kernel, managers, memory, network, numa, sysctl
from hosts.cpu import (
    VM_FLAGS,
    XEON_STATES,
    plant_clocksource,
    plant_cpus,
    plant_frequency,
    plant_idle,
    plant_no_frequency,
)


class WholeKernel:
    """What two rooms know of the kernel."""

    @staticmethod
    def read(host):
        return {**release.read(host), "earlier_boots": earlier_boots.read(host)}


SECTIONS = {"identity": identity, "kernel": WholeKernel, "cpu": cpu, "numa": system_numa, "memory": system_memory,
            "sysctl": kernel_sysctl, "firmware": firmware, "managers": boot_managers, "network": system_network}


def server(tree):
    online = plant_cpus(tree, sockets=2, cores=4, offline=[15])
    plant_frequency(tree, online, driver="amd-pstate-epp", epp="performance", amd_pstate="active", policy_boost=1)
    plant_idle(tree, online, disabled={"C2": [0, 1]})
    plant_clocksource(tree)
    numa.plant_nodes(tree, ("0-3,8-11", "4-7,12-14"))
    memory.plant_memory(tree)
    memory.plant_thp(tree, sizes={64: "never", 2048: "inherit"})
    memory.plant_swap(tree, "/dev/zram0  partition\t100\t\t0\t\t100")
    memory.plant_hugepages(tree, 2048, {0: (512, 500), 1: (512, 0)})
    memory.plant_arc(tree, 64 << 30)
    managers.plant_ubuntu_24_04(tree, "tuned")
    tree.file("/etc/tuned/active_profile", "throughput-performance\n")
    network.plant_card(tree, "eno1", "0000:e2:00.0")
    network.plant_softnet(tree, (1, 2, 3))
    sysctl.plant_sysctls(tree)
    kernel.plant_kernel(tree, log=("AMD-Vi: Unknown option - 'on'",))
    kernel.plant_kernel_config(tree)
    kernel.plant_distribution(tree)
    kernel.plant_firmware(tree)


def intel_server(tree):
    server(tree)
    plant_frequency(tree, range(15), driver="intel_pstate", governor="powersave", epp="128", boost=None, no_turbo=0,
                    intel_pstate="active")
    plant_idle(tree, range(15), states=XEON_STATES, driver="intel_idle")


def virtual_machine(tree):
    plant_cpus(tree, sockets=1, cores=2, threads=1, flags=VM_FLAGS)
    plant_no_frequency(tree)
    kernel.plant_kernel(tree, lockdown=None)
    memory.plant_swap(tree)


def container(tree):
    server(tree)
    kernel.plant_container(tree)
    tree.remove("/recorded/kmsg.txt")


def nonsense(tree):
    """Every file is there and holds something else than it should."""
    server(tree)
    for path in tree.root.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.name != ".gpuhost-sysroot":
            path.write_bytes(b"\xff nonsense [\n")


def nothing(_tree):
    pass


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("plant", [server, intel_server, virtual_machine, container, nonsense, nothing])
def test_planted_hosts(tree, host, plant, section):
    plant(tree)
    assert problems(section, as_facts(SECTIONS[section].read(host))) == []


@pytest.mark.parametrize("section", SECTIONS)
def test_this_machine(section):
    assert problems(section, as_facts(SECTIONS[section].read(Host()))) == []


@pytest.mark.parametrize("section", SECTIONS)
def test_a_key_too_many_and_a_key_too_few_are_seen(host, section):
    facts = as_facts(SECTIONS[section].read(host))
    assert problems(section, {**facts, "surplus": None}) != []
    facts.popitem()
    assert problems(section, facts) != []


def test_public_sysctls_have_every_key(field_files):
    """Each key exists under this very name on a real kernel."""
    text = (field_files / "sysctl/vm_debian12_6.18__sysctl-a.txt").read_text()
    known = {line.partition(" = ")[0] for line in text.splitlines()}
    assert [key for key in kernel_sysctl.SYSCTLS if key not in known] == []
