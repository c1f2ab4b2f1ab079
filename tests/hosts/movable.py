# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Proxmox VE node of two NUMA nodes with a running VM and a running container whose CPUs can be changed.

Node 0 has the CPUs 0-3, node 1 4-7. VM 200 and container 101 have their memory on node 0 and may run anywhere.
"""
from __future__ import annotations

import re
from collections.abc import Iterable

from .numa import plant_nodes
from .placement import plant_group
from .processes import plant_container_init
from .proxmox import plant_proxmox
from .tree import Tree

VM_PID, INIT_PID = 20200, 5101
THREADS = (VM_PID, VM_PID + 1, VM_PID + 2, VM_PID + 3)
CONTAINER = "/sys/fs/cgroup/lxc/101"
VM_CONF, CONTAINER_CONF = "/etc/pve/nodes/pve1/qemu-server/200.conf", "/etc/pve/nodes/pve1/lxc/101.conf"
RAW_KEY = "lxc.cgroup2.cpuset.cpus: 0-7"
PVESTATD = 900
IO_WORKER, NO_SETAFFINITY = 0x00000010, 0x04000000      # flags of include/linux/sched.h


def movable(tree: Tree, *, memory: tuple[float, ...] = (8, 0), container: str = f"cores: 4\n{RAW_KEY}\n",
            vm: str = "cores: 4\nmemory: 8192\n") -> Tree:
    tree.files("/sys/devices/system/cpu", {"online": "0-7", "present": "0-7"})
    plant_nodes(tree, ("0-3", "4-7"))
    plant_proxmox(tree, containers={"101": container}, vms={"200": vm}, running=("101", "200"))
    tree.file("/sys/fs/cgroup/cpuset.cpus.effective", "0-7").file("/sys/fs/cgroup/lxc/cpuset.cpus.effective", "0-7")
    plant_group(tree, "/lxc/101", memory, cpuset="0-7", nodes="0-1")
    tree.file(f"{CONTAINER}/ns/cpuset.cpus", "\n")
    plant_container_init(tree, INIT_PID, "101")
    tree.file(f"/proc/{INIT_PID}/status", f"Name:\tsystemd\nNSpid:\t{INIT_PID}\t1\n")
    plant_stat(tree, f"/proc/{INIT_PID}/stat", INIT_PID, 3300)
    plant_group(tree, "/qemu.slice/200.scope", memory)
    plant_stat(tree, f"/proc/{VM_PID}/stat", VM_PID, 4400)
    for thread in THREADS:
        plant_thread(tree, thread)
    return tree


def plant_thread(tree: Tree, thread: int, cpus: str = "0-7", flags: int = 0x00400040) -> Tree:
    """A thread of VM 200; the flags are those of an ordinary one."""
    folder = f"/proc/{VM_PID}/task/{thread}"
    tree.file(f"{folder}/status", f"Name:\tCPU 0/KVM\nCpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0-1\n")
    return plant_stat(tree, f"{folder}/stat", thread, 4400, flags)


def plant_stat(tree: Tree, path: str, number: int, started: int, flags: int = 0x00400040) -> Tree:
    """/proc/<pid>/stat up to its 23rd field, with a command as hostile as the kernel allows."""
    return tree.file(path, f"{number} (a) S 1 (b) S 1 {number} {number} 0 -1 {flags} " + "0 " * 12 + f"{started} 0")


def plant_pvestatd(tree: Tree) -> Tree:
    return tree.file("/run/pvestatd.pid", PVESTATD).file(f"/proc/{PVESTATD}/cmdline", b"pvestatd\0")


class TreeScheduler:
    """A fake of sched_setaffinity(2) for planted threads: it writes their status files.

    `moved` are the threads and CPUs in order. `after` is called after each; `errors` are raised for a thread; `drop`
    are the CPUs that the kernel leaves out.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.moved: list[tuple[int, list[int]]] = []
        self.errors: dict[int, OSError] = {}
        self.after = lambda: None
        self.drop: set[int] = set()

    def __call__(self, thread: int, cpus: Iterable[int]) -> None:
        if thread in self.errors:
            raise self.errors[thread]
        path = self.tree.path(f"/proc/{VM_PID}/task/{thread}/status")
        if not path.exists():
            raise ProcessLookupError(3, "No such process")
        cpus = sorted(set(cpus) - self.drop)
        line = f"Cpus_allowed_list:\t{','.join(map(str, cpus))}"
        path.write_text(re.sub(r"(?m)^Cpus_allowed_list:.*$", line, path.read_text()))
        self.moved.append((thread, cpus))
        self.after()
