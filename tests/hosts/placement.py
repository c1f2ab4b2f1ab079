# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The placement of planted guests and processes: their control groups, their threads, and the CPUs' shared caches."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from .tree import Tree

CPU = "/sys/devices/system/cpu"
GIB = 1 << 30       # bytes


def plant_group(tree: Tree, path: str, anon: Sequence[float] = (0,), *, file: Sequence[float] = (0,),
                cpuset: str | None = None, effective: str | None = None, nodes: str | None = None,
                cpu_max: str = "max 100000", memory_max: str = "max") -> Tree:
    """A control group of the unified hierarchy: `anon` and `file` are GiB by node. Lists of CPUs and nodes exist if the
    group has the cpuset controller, as those of containers do."""
    folder = f"/sys/fs/cgroup{path}"
    tree.files(folder, {"memory.numa_stat": f"anon {_by_node(anon)}\nfile {_by_node(file)}\nkernel_stack N0=16384\n"
                                            f"shmem {_by_node([0] * len(anon))}\n",
                        "memory.max": memory_max, "cpu.max": cpu_max})
    for name, text in (("cpuset.cpus", cpuset), ("cpuset.cpus.effective", effective or cpuset),
                       ("cpuset.mems.effective", nodes)):
        if text is not None:
            tree.file(f"{folder}/{name}", text)
    return tree


def _by_node(sizes: Sequence[float]) -> str:
    return " ".join(f"N{node}={int(size * GIB)}" for node, size in enumerate(sizes))


def plant_threads(tree: Tree, pid: int, threads: Mapping[str, int], nodes: str = "0-1") -> Tree:
    """The number of threads of a process on each list of CPUs; the first one is the process itself."""
    tid = pid
    for cpus, count in threads.items():
        for _number in range(count):
            tree.file(f"/proc/{pid}/task/{tid}/status", f"Name:\tCPU 0/KVM\nState:\tS (sleeping)\n"
                                                        f"Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t{nodes}\n")
            tid += 1
    return tree


def plant_caches(tree: Tree, groups: Sequence[str]) -> Tree:
    """Last-level caches: the CPUs that share each one, by its first CPU."""
    for group in groups:
        first = group.partition(",")[0].partition("-")[0]
        tree.file(f"{CPU}/cpu{first}/cache/index3/shared_cpu_list", group)
    return tree
