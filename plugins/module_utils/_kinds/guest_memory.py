# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""CPUs of a guest stay at its memory: memory that exists is not moved, and what vfio has pinned cannot be."""
from __future__ import annotations

import re

from .._change.tunable import Refused
from .._host.host import Host
from .._host.reading import Reading
from .._kernel.cpulist import format_cpulist, parse_cpulist
from .._placement.guests import real_container, real_vm
from .._tunables.guest_affinity import VM, is_at_memory

NODES = "/sys/devices/system/node"
_NODE = re.compile(r"node(\d{1,5})")
_PASSED_THROUGH = re.compile(r"hostpci\d+")


def require_at_memory(host: Host, kind: str, number: str, settings: dict[str, str], cpus: set[int]) -> None:
    """Refuse CPUs on NUMA nodes without most of the guest's memory, see is_at_memory().

    So of a guest with 90 % of its memory on one node only that one is accepted, and of a guest with half on each of
    two nodes only both together. Raises Refused, also if the memory cannot be read.
    """
    memory = read_memory(host, kind, number, settings)
    total = sum(memory.value.values()) if memory.ok else 0
    if not total:
        raise refusal(f"which nodes its memory is on is unknown: {memory.detail or memory.status}" if not memory.ok
                      else "the kernel counts no memory of it on any node")
    nodes = nodes_of(host, cpus)
    if is_at_memory(memory.value, nodes):
        return
    where = ", ".join(f"{100 * size / total:.0f} % on node {node}"
                      for node, size in sorted(memory.value.items()) if size)
    pinned = "; vfio has pinned it, so it never moves" if kind == VM and any(
        _PASSED_THROUGH.fullmatch(key) for key in settings) else ""
    raise refusal(f"the CPUs {format_cpulist(cpus)} are on node {format_cpulist(nodes)}, its memory is {where}{pinned}"
                  ": a guest is only moved to where most of its memory is")


def read_memory(host: Host, kind: str, number: str, settings: dict[str, str]) -> Reading:
    """`{node: KiB}` of a guest's memory without page cache, from memory.numa_stat of its control group."""
    real = real_vm(host, number, "hugepages" in settings) if kind == VM else real_container(host, number, True)
    return real["memory"].map(lambda rows: {
        row["node"]: row["anon_kib"] + row["shmem_kib"] + row["hugetlb_kib"] for row in rows})


def nodes_of(host: Host, cpus: set[int]) -> list[int]:
    """The NUMA nodes of these CPUs. Raises Refused if the kernel does not name one for each."""
    found, left = [], set(cpus)
    for name in host.list(NODES):
        node = _NODE.fullmatch(name)
        own = set(host.read(f"{NODES}/{name}/cpulist").map(parse_cpulist).value or ()) if node else set()
        if own & cpus:
            found.append(int(node[1]))
            left -= own
    if left:
        raise refusal(f"the NUMA node of the CPUs {format_cpulist(left)} is unknown: {NODES}")
    return sorted(found)


def refusal(reason: str) -> Refused:
    """A refusal that a restore of what was there before passes over."""
    return Refused(reason, but_back=True)
