# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NUMA nodes of a planted host."""
from __future__ import annotations

from collections.abc import Sequence

from .tree import Tree

NODE = "/sys/devices/system/node"
TWO_SOCKETS = ("0-63,128-191", "64-127,192-255")
GIB = 1 << 20   # KiB


def plant_nodes(tree: Tree, cpus: Sequence[str] = TWO_SOCKETS, *, memory_kib: int | Sequence[int] = 251 * GIB,
                free_kib: int = 200 * GIB, near: int = 10, far: int = 32,
                distances: Sequence[Sequence[int]] | None = None) -> None:
    """One node for every list of CPUs; an empty list is a memory-only node. `memory_kib` of all, or of each."""
    count = len(cpus)
    numbers = "0" if count == 1 else f"0-{count - 1}"
    tree.files(NODE, {"online": numbers, "possible": numbers, "has_memory": numbers})
    for node, list_ in enumerate(cpus):
        total = memory_kib if isinstance(memory_kib, int) else memory_kib[node]
        free = min(total, free_kib)
        row = distances[node] if distances else [near if other == node else far for other in range(count)]
        tree.files(f"{NODE}/node{node}", {
            "cpulist": list_ or "\n",
            "distance": " ".join(map(str, row)),
            "meminfo": f"Node {node} MemTotal:       {total} kB\nNode {node} MemFree:        {free} kB\n"
                       f"Node {node} MemUsed:        {total - free} kB\n"
                       f"Node {node} AnonHugePages:   2048 kB\n"})
