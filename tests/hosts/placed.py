# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts with different placement problems: NPS4, one socket, no room, hybrid cores, no guests, no Proxmox VE."""
from __future__ import annotations

from . import processes
from .nps4 import NODE_CPUS as QUARTERS
from .nps4 import nps4_on_one_socket
from .others import RTX_4090, workstation
from .pass_through_node import node_of_vms, vm
from .placement import plant_caches, plant_group, plant_threads
from .proxmox import plant_proxmox
from .reference import reference
from .tree import Tree

DOCKER = "3f9c2ab41d07" + "0" * 52
OTHER = "77aa00bb11cc" + "1" * 52


def nps4_with_services(tree: Tree) -> Tree:
    """Four nodes on one socket: one service on its GPU's quarter of the CPUs, another that may run on all of them."""
    nps4_on_one_socket(tree)
    plant_caches(tree, [f"{first}-{first + 7},{first + 64}-{first + 71}" for first in range(0, 64, 8)])
    _service(tree, 3001, "vllm-a.service", 0, QUARTERS[0], (40, 0, 0, 0))
    return _service(tree, 3002, "vllm-b.service", 1, "0-127", (0, 10, 30, 0))


def _service(tree: Tree, pid: int, unit: str, minor: int, cpus: str, anon: tuple[int, ...]) -> Tree:
    path = f"/system.slice/{unit}"
    processes.plant_process(tree, pid, "python3", (f"/dev/nvidia{minor}", "/dev/nvidiactl"), cgroup=f"0::{path}")
    return plant_threads(plant_group(tree, path, anon), pid, {cpus: 8}, "0-3")


def one_socket(tree: Tree) -> Tree:
    """One node, so nothing can be far; the CPU type still hides AVX."""
    workstation(tree)
    return plant_proxmox(tree, vms={"200": f"cores: 8\nhostpci0: {RTX_4090},pcie=1\nmachine: q35\nmemory: 16384\n"})


def more_demand_than_cores(tree: Tree) -> Tree:
    """Two VMs of 64 CPUs each on 64 cores: they share all of them for lack of room."""
    node_of_vms(tree)
    for number, card in (("200", "0000:21:00.0"), ("201", "0000:a1:00.0")):
        tree.file(f"/etc/pve/nodes/pve1/qemu-server/{number}.conf",
                  vm("all", "0-63", card).replace("cores: 32", "cores: 64"))
    return tree.remove("/etc/pve/nodes/pve1/qemu-server/202.conf")


def hybrid_cores(tree: Tree) -> Tree:
    """A desktop with eight cores of two threads and eight of one, all with one last-level cache."""
    workstation(tree)
    for cpu in range(16, 32):
        tree.path(f"/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list").unlink()
    for cpu in range(16):
        tree.file(f"/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list",
                  f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}")
    for cpu in range(16, 24):
        tree.file(f"/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list", cpu)
    tree.file("/sys/devices/system/cpu/online", "0-23").file("/sys/devices/system/node/node0/cpulist", "0-23")
    tree.file("/sys/devices/cpu_core/cpus", "0-15").file("/sys/devices/cpu_atom/cpus", "16-23")
    return plant_caches(tree, ["0-23"])


def no_guests(tree: Tree) -> Tree:
    """A Proxmox VE node without guests."""
    return plant_proxmox(reference(tree), version="9.1.2")


def plain_docker(tree: Tree) -> Tree:
    """Docker on two sockets: one container without limits, one beside its GPUs with its memory far away."""
    reference(tree)
    for pid, number, minors, cpus, anon in ((4100, DOCKER, (0,), "0-238,240-255", (20, 0)),
                                            (4200, OTHER, (4, 5), "64-95", (60, 20))):
        path = f"/system.slice/docker-{number}.scope"
        plant_group(tree, path, anon, cpuset=cpus if pid == 4200 else "\n", effective=cpus, nodes="0-1")
        processes.plant_process(tree, pid, "python3", tuple(f"/dev/nvidia{minor}" for minor in minors),
                                cgroup=f"0::{path}")
        plant_threads(tree, pid, {cpus: 4})
    return tree
