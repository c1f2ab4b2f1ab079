# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Proxmox VE 9 node with two sockets, eight GPUs and ten guests, each placed badly in a different way.

Node 0 has CPUs 0-31,64-95 and four GPUs, node 1 has 32-63,96-127 and four more; each node has 377 GiB. Two GPUs are
kept by the host's driver for containers.
"""
from __future__ import annotations

from . import pci, processes
from .nvidia import Gpu, plant_nvidia
from .pass_through_node import DRIVER, NODE_CPUS, plant_machine
from .placement import plant_caches, plant_group, plant_threads
from .proxmox import plant_proxmox
from .tree import Tree

CARDS = ("0000:01:00.0", "0000:11:00.0", "0000:21:00.0", "0000:31:00.0",
         "0000:41:00.0", "0000:61:00.0", "0000:71:00.0", "0000:81:00.0")
OF_CONTAINERS = CARDS[6:]
GIB = 1024      # MiB
VMS = {
    # GPUs on both sockets, one virtual node, not bound.
    "200": f"cores: 64\ncpu: host\nmachine: q35\nballoon: 0\nonboot: 1\nmemory: {384 * GIB}\n"
           "hostpci0: 0000:01:00.0,pcie=1\nhostpci1: 0000:41:00.0,pcie=1\n",
    # The GPU at node 0, the CPUs at node 1. It starts with the host, but is not running yet.
    "201": f"affinity: 32-47\ncores: 16\ncpu: host\nmachine: pc-q35-9.2\nballoon: 0\nonboot: 1\nmemory: {192 * GIB}\n"
           "hostpci0: 0000:11:00.0,pcie=1\n",
    # The GPU and the CPUs at node 0, the memory at node 1.
    "202": f"affinity: 0-7\ncores: 8\ncpu: host\nmachine: q35\nballoon: 0\nonboot: 1\nmemory: {96 * GIB}\nnuma: 1\n"
           f"numa0: cpus=0-7,hostnodes=1,memory={96 * GIB},policy=bind\n"
           "hostpci0: 0000:21:00.0,pcie=1\n",
    # Well placed, with a CPU type that hides AVX.
    "203": f"affinity: 8-15\ncores: 8\ncpu: x86-64-v2-AES\nmachine: q35\nballoon: 0\nonboot: 1\n"
           f"memory: {96 * GIB}\nnuma: 1\nnuma0: cpus=0-7,hostnodes=0,memory={96 * GIB},policy=bind\n"
           "hostpci0: 0000:31:00.0,pcie=1\n",
    # pcie=1 on i440fx: it cannot start. As it is stopped, this has gone unnoticed.
    "204": f"affinity: 48-51\ncores: 4\ncpu: host\nballoon: 0\nmemory: {32 * GIB}\n"
           "hostpci0: 0000:61:00.0,pcie=1\n",
    # Its virtual node has half of the memory, and a policy is missing: it cannot start either.
    "205": f"affinity: 48-51\ncores: 4\ncpu: host\nmachine: q35\nballoon: 0\nmemory: {32 * GIB}\nnuma: 1\n"
           f"numa0: cpus=0-3,hostnodes=1,memory={16 * GIB}\nhostpci0: 0000:61:00.0,pcie=1\n",
    # One GPU in a VM over both nodes, with an ineffective balloon, on the conventional bus.
    "206": f"affinity: 0-63\ncores: 16\nsockets: 2\ncpu: host\nmachine: q35\nballoon: 8192\n"
           f"memory: {64 * GIB}\nnuma: 1\nhostpci0: 0000:61:00.0\n",
}
_CONTAINER = ("arch: amd64\ncores: {cores}\ndev0: /dev/nvidia{minor},gid=44\ndev1: /dev/nvidiactl,gid=44\n"
              "dev2: /dev/nvidia-uvm,gid=44\nhostname: ct\nmemory: 65536\nostype: debian\nunprivileged: 1\n"
              "rootfs: local-zfs:subvol-101-disk-0,size=64G\n{rest}")
CONTAINERS = {
    "101": _CONTAINER.format(cores=32, minor=0, rest=""),                   # CPUs selected at random at start
    "102": _CONTAINER.format(cores=8, minor=1, rest="lxc.cgroup2.cpuset.cpus: 56-63\n"),
    "103": _CONTAINER.format(cores=8, minor=1, rest="lxc.cgroup2.cpuset.cpus: 56-63\n"),       # the same ones
}
PICKED = "2-17,40-55"
RUNNING = ("101", "102", "103", "200", "202", "203")


def badly_placed(tree: Tree) -> Tree:
    plant_machine(tree)
    for number, card in enumerate(CARDS):
        _plant_card(tree, card, number)
    plant_caches(tree, [f"{first}-{first + 7},{first + 64}-{first + 71}" for first in range(0, 64, 8)])
    plant_nvidia(tree, DRIVER, gpus=[Gpu(card, minor) for minor, card in enumerate(OF_CONTAINERS)])
    plant_proxmox(tree, version="9.0.11", containers=CONTAINERS, vms=VMS, running=RUNNING)
    for number, cpus, anon in (("101", PICKED, (10, 30)), ("102", "56-63", (40, 0)), ("103", "56-63", (0, 20))):
        plant_group(tree, f"/lxc/{number}", anon, cpuset=cpus, nodes="0-1")
        processes.plant_container_init(tree, 5000 + int(number), number)
        processes.plant_container_nodes(tree, 5000 + int(number), {
            f"/dev/nvidia{0 if number == '101' else 1}": (195, 0 if number == "101" else 1),
            "/dev/nvidiactl": (195, 255), "/dev/nvidia-uvm": (511, 0)})
    for number, cpus, anon in (("200", "0-127", (200, 184)), ("202", "0-7", (0, 96)), ("203", "8-15", (96, 0))):
        plant_group(tree, f"/qemu.slice/{number}.scope", anon)
        plant_threads(tree, 20000 + int(number), {cpus: 12})
    return tree


def _plant_card(tree: Tree, card: str, number: int) -> None:
    """A GPU; the interrupt of container 101's goes to a CPU that 102 and 103 are bound to."""
    node, given = number // 4, card not in OF_CONTAINERS
    place = {"numa_node": node, "local_cpulist": NODE_CPUS[node]}
    port = pci.plant_root_port(tree, f"0000:{int(card[5:7], 16) - 1:02x}:01.1", acs=0x001D, iommu_group=10 + number,
                               **place)
    pci.plant_gpu(tree, card, parent=port, driver="vfio-pci" if given else "nvidia", iommu_group=30 + number,
                  iommu_type="DMA" if given else "identity",
                  interrupts={200 + number: "56" if card == OF_CONTAINERS[0] else NODE_CPUS[node]}, **place)
