# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPUs and NUMA nodes out of /proc/cpuinfo, numactl -H, lscpu and what the kernel says at boot."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake import cpus_and_nodes as cpus
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.recorded_host import RecordedHost

CPU, NODE = cpus.CPU, cpus.NODE
# Two sockets, two threads a core; the second threads follow all cores.
CPUINFO = "\n".join(f"processor\t: {cpu}\nphysical id\t: {cpu % 4 // 2}\nsiblings\t: 4\ncpu cores\t: 2\n"
                    f"apicid\t\t: {apic}\n" for cpu, apic in enumerate((0, 2, 16, 18, 1, 3, 17, 19)))
SRAT = [f"[    0.01] ACPI: SRAT: PXM {apic // 16} -> APIC 0x{apic:02x} -> Node {apic // 16}"
        for apic in (0, 1, 2, 3, 16, 17, 18, 19)]
SETUP = ["[    0.02] Initmem setup node 0 [mem 0x1000-0x2000]", "[    0.02] Initmem setup node 1 [mem 0x3000-0x4000]"]


@pytest.fixture
def host():
    host = RecordedHost()
    host.put("/proc/cpuinfo", CPUINFO)
    host.put("/proc/meminfo", "MemTotal:       1000 kB\nMemFree:         400 kB\n")
    return host


def test_cpus_that_are_online(host):
    cpus.put_cpus(host, CPUINFO)
    assert host.text(f"{CPU}/online") == "0-7\n"
    assert host.text(f"{CPU}/cpu6/topology/physical_package_id") == "1\n"
    assert host.text(f"{CPU}/smt/active") == "1\n"


def test_nodes_of_the_firmware_table(host):
    cpus.put_nodes(host, [*SETUP, *SRAT])
    assert host.text(f"{NODE}/online") == "0-1\n"
    assert (host.text(f"{NODE}/node0/cpulist"), host.text(f"{NODE}/node1/cpulist")) == ("0-1,4-5\n", "2-3,6-7\n")
    assert host.text(f"{NODE}/node0/distance") is None


def test_a_table_without_all_cpus_tells_nothing_of_them(host):
    cpus.put_nodes(host, [*SETUP, *SRAT[:-1]])
    assert host.text(f"{NODE}/node0/cpulist") is None


def test_a_single_node_has_everything(host):
    cpus.put_nodes(host, SETUP[:1])
    assert host.text(f"{NODE}/node0/cpulist") == "0-7\n"
    assert host.text(f"{NODE}/node0/distance") == "10\n"
    assert host.text(f"{NODE}/node0/meminfo").split() == ["Node", "0", "MemTotal:", "1000", "kB",
                                                          "Node", "0", "MemFree:", "400", "kB"]


def test_a_log_that_has_lost_the_boot_tells_of_no_node(host):
    cpus.put_nodes(host, ["[ 7000.0] x"])
    assert host.text(f"{NODE}/online") is None


def test_numactl_of_two_nodes(host):
    cpus.put_numactl(host, "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 4 5\nnode 0 size: 64 MB\nnode 0 free: 3 MB\n"
                     "node 1 cpus:\nnode 1 size: 32 MB\nnode distances:\nnode   0   1\n  0:  10  32\n  1:  32  10\n")
    assert host.text(f"{NODE}/online") == "0-1\n"
    assert host.text(f"{NODE}/node0/cpulist") == "0-1,4-5\n"
    assert host.text(f"{NODE}/node1/cpulist") == "\n"
    assert host.text(f"{NODE}/node1/distance") == "32 10\n"
    assert "65536 kB" in host.text(f"{NODE}/node0/meminfo")


@pytest.mark.parametrize("line, present", [
    ("[    0.0] smpboot: Allowing 32 CPUs, 0 hotplug CPUs", "0-31"),
    ("[    0.0] smpboot: Allowing 8 CPUs, 4 hotplug CPUs", "0-3"),
    ("[    0.0] CPU topo: Allowing 12 present CPUs plus 4 hotplug CPUs", "0-11"),
    ("[    0.0] Allowing 0 CPUs, 9 hotplug CPUs", None), ("nothing", None)])
def test_cpus_that_are_plugged_in(host, line, present):
    cpus.put_present(host, [line])
    assert host.text(f"{CPU}/present") == (present and f"{present}\n")
