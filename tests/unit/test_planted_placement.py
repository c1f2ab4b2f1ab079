# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of where guests and services run, written down from what the planted hosts are."""
from __future__ import annotations

import pytest

from facts_schema import problems
from hosts.badly_placed import badly_placed
from hosts.placed import (
    hybrid_cores,
    more_demand_than_cores,
    no_guests,
    nps4_with_services,
    one_socket,
    plain_docker,
)
from hosts.story_before import story_before
from verdicts import expand, judged, lines

CHECKS = ("guest_cpus", "guest_memory", "guest_shared_cores", "guest_interrupts", "guest_pinned_memory",
          "vm_virtual_nodes", "vm_numa_settings", "vm_cpu_type", "vm_pcie", "vm_balloon", "vm_hugepages")
TEN = ("lxc:101", "lxc:102", "lxc:103", "vm:200", "vm:201", "vm:202", "vm:203", "vm:204", "vm:205", "vm:206")
VMS = TEN[3:]


def but(subjects, *others):
    return tuple(subject for subject in subjects if subject not in others)


def fails(priority, *sentences):
    quoted = ", ".join(f'"{sentence}"' for sentence in sentences)
    return f"fail {priority}: [{quoted}] -> empty true"


TEN_BADLY_PLACED = {
    "guest_cpus": {
        but(TEN, "lxc:101", "vm:201", "vm:206"): "pass P2: []",
        ("lxc:101",): fails("P2", "Proxmox VE picks 32 CPUs at random at each start, 2-17,40-55 now"),
        ("vm:201",): fails("P2", "0000:11:00.0 is at node0 (0-31,64-95)"),
        ("vm:206",): fails("P2", "CPUs 0-31 are at node0, where none of its GPUs is")},
    # 201, 204 and 206 neither run nor are bound to nodes: nobody knows where their memory will be.
    "guest_memory": {
        ("lxc:103", "vm:200", "vm:203", "vm:205"): "pass P2: []",
        ("lxc:101",): fails("P2", "10 of its 40 GiB of memory lie on node0, its GPUs are at node1"),
        ("lxc:102",): fails("P2", "40 of its 40 GiB of memory lie on node0, its GPUs are at node1"),
        ("vm:202",): fails("P2", "0000:21:00.0 is at node0, the memory at node 1")},
    # Free are the cores 16-31 and 52-55, and 48-51, whose VMs do not start with the host.
    "guest_shared_cores": {
        but(VMS, "vm:200"): "pass P2: []",
        ("lxc:102",): fails("P2", "it shares 8 cores (CPUs 56-63,120-127) with lxc:103, while 24 cores are free"),
        ("lxc:103",): fails("P2", "it shares 8 cores (CPUs 56-63,120-127) with lxc:102, while 24 cores are free")},
    "guest_interrupts": {
        but(VMS, "vm:200", "vm:206"): "pass info: []",
        ("lxc:102", "lxc:103", "vm:206"): "fail info: [206] -> empty true"},
    # 384 + 96 + 96 run, 192 start with the host; the containers use 40 + 40 + 20.
    "guest_pinned_memory": fails("P1", "VMs with PCI devices pin 768 GiB and other guests use 100, the host has 755"),
    "vm_virtual_nodes": {
        but(VMS, "vm:200", "vm:206"): "pass P2: []",
        ("vm:200",): fails("P2", "its GPUs are at node0, node1, and it sees 1 NUMA node"),
        ("vm:206",): fails("P2", "its GPUs are at node1 alone, and it sees 2 NUMA nodes")},
    "vm_numa_settings": {
        but(VMS, "vm:205"): "pass P2: []",
        ("vm:205",): fails("P1", "numa0 has hostnodes and no policy",
                           "numaN have 16384 MiB together, memory is 32768")},
    "vm_cpu_type": {but(VMS, "vm:203"): "pass P2: []", ("vm:203",): fails("P2", "avx", "avx2", "avx512f")},
    "vm_pcie": {
        but(VMS, "vm:204", "vm:206"): "pass P2: []",
        ("vm:204",): fails("P1", "hostpci0 has pcie=1, which needs q35, and the machine is i440fx"),
        ("vm:206",): fails("P2", "hostpci0 has no pcie=1: a device on the conventional PCI bus of q35")},
    "vm_balloon": {but(VMS, "vm:206"): "pass P2: []", ("vm:206",): fails("P2", "balloon: 8192 of 65536 MiB")},
    "vm_hugepages": {
        ("vm:202",): fails("info", "96 GiB at node1 would fit"),
        ("vm:203",): fails("info", "96 GiB at node0 would fit"),
        ("vm:205",): fails("info", "16 GiB at node1 would fit")},
}


def of_placement(facts):
    return {pair: line for pair, line in lines(judged(facts)).items() if pair[0] in CHECKS}


def test_ten_guests_each_placed_badly_in_its_own_way(facts_of):
    assert of_placement(facts_of(badly_placed)) == expand(TEN_BADLY_PLACED)


@pytest.mark.parametrize("plant, fails_or_unknown", [
    (story_before, {}),
    (nps4_with_services, {
        "guest_cpus": {("process:vllm-b.service",): fails("P2", "python3 (3002): may run on all CPUs of the host")},
        "guest_memory": {("process:vllm-b.service",):
                         fails("P2", "30 of its 40 GiB of memory lie on node2, its GPUs are at node1")}}),
    (one_socket, {"vm_cpu_type": {("vm:200",): fails("P2", "avx", "avx2", "avx512f")}}),
    (more_demand_than_cores, {
        "guest_cpus": {("vm:200",): fails("P2", "CPUs 32-63 are at node1, where none of its GPUs is"),
                       ("vm:201",): fails("P2", "CPUs 0-31 are at node0, where none of its GPUs is")}}),
    (hybrid_cores, {}),
    (no_guests, {}),
    (plain_docker, {
        "guest_cpus": {("process:3f9c2ab41d07",): fails("P2", "python3 (4100): may run on all CPUs of the host")},
        "guest_memory": {("process:77aa00bb11cc",):
                         fails("P2", "60 of its 80 GiB of memory lie on node0, its GPUs are at node1")}}),
], ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_wrong_and_nothing_else(facts_of, plant, fails_or_unknown):
    found = of_placement(facts_of(plant))
    assert {pair: line for pair, line in found.items() if line.startswith(("fail", "unknown"))} == \
        expand(fails_or_unknown)


@pytest.mark.parametrize("plant", [one_socket, hybrid_cores])
def test_on_one_node_nothing_is_far(facts_of, plant):
    found = judged(facts_of(plant))
    assert found["guest_cpus", None]["reason"] == "the host has one NUMA node with memory"


def test_cores_and_caches_are_told_as_the_kernel_groups_them(facts_of):
    desk, server = (facts_of(plant)["placement"] for plant in (hybrid_cores, nps4_with_services))
    assert (len(desk["cores"]), desk["cores"][0], desk["cores"][-1], desk["l3"]) == (16, "0-1", "23", ["0-23"])
    assert (len(server["cores"]), server["cores"][0], server["l3"][0]) == (64, "0,64", "0-7,64-71")


def test_the_facts_of_ten_guests_have_the_form_of_the_schema(facts_of):
    facts = facts_of(badly_placed)
    assert problems("placement", facts["placement"]) == []
    guests = {guest["subject"]: guest for guest in facts["placement"]["guests"]["value"]}
    assert guests["vm:203"]["configured"]["vm"]["numa_nodes"] == [
        {"key": "numa0", "cpus": "0-7", "hostnodes": "0", "memory_mib": 98304, "policy": "bind"}]
    assert guests["vm:203"]["real"]["threads"]["value"] == [{"cpus": "8-15", "count": 12}]
    assert guests["lxc:101"]["real"]["cpus"]["value"] == "2-17,40-55"
    assert guests["vm:204"]["real"] is None


def test_what_makes_a_gpu_a_pci_express_device_is_one_command(facts_of):
    found = judged(facts_of(badly_placed))
    assert found["vm_pcie", "vm:204"]["fix"]["how"].startswith("qm set 204 --machine q35; then stop")
    assert found["vm_pcie", "vm:206"]["fix"]["how"].startswith("qm set 206 --hostpci0 0000:61:00.0,pcie=1; then stop")
