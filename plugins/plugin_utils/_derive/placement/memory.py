# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether memory is local to the GPUs of its guest: the nodes it is bound to, and where it is now."""
from __future__ import annotations

from typing import Any

from ....module_utils._kernel.cpulist import parse_cpulist
from ..reading import hidden, known, lost, value
from .situation import Placed, Topology

GIB = 1 << 20           # KiB
_FAR_SHARE = 0.25       # of the memory: normal spill-over by the kernel is less
_FAR_LEAST_KIB = GIB
_KINDS = ("anon_kib", "shmem_kib", "hugetlb_kib")       # page cache is on the node that read the file first


def has_memory_to_judge(one: Placed) -> bool:
    """Whether its memory can be located: not if it neither runs nor is bound to nodes."""
    return one.entry["real"] is not None or bound_nodes(one) is not None


def bound_nodes(one: Placed) -> set[int] | None:
    """The nodes that its memory is bound to; None if it is not bound."""
    if one.configured is None:
        return None
    text = value(one.configured["memory_nodes"])
    return None if text is None else set(parse_cpulist(text))


def judge_memory(one: Placed, host: Topology) -> dict[str, Any]:
    """A reading of sentences; lost if neither the binding nor the current location is known."""
    if one.unsettled or host.hidden:
        return lost(one.unsettled or host.hidden or "")
    limit = {"status": "absent"} if one.configured is None else one.configured["memory_nodes"]
    if limit["status"] == "unparsable":
        return lost("what its memory is bound to is no list of nodes")
    real = one.entry["real"]
    unread = hidden([limit] if real is None else [limit, real["memory"]])
    if unread:
        return lost(unread)
    bound = bound_nodes(one)
    found = [] if bound is None else _bound_wrong(one, bound, host)
    if found or real is None:
        return known(found)
    rows = real["memory"]
    if rows["status"] != "ok":
        return known([]) if bound is not None else lost(rows["status"])
    return known(_lies_wrong(one, held(rows["value"]), host))


def held(rows: list[dict[str, Any]]) -> dict[int, int]:
    """KiB by node that a program or VM uses."""
    return {row["node"]: sum(row[kind] for kind in _KINDS) for row in rows}


def _bound_wrong(one: Placed, bound: set[int], host: Topology) -> list[str]:
    names = ", ".join(map(str, sorted(bound)))
    found = [f"{bdf} is at node{node}, the memory at node {names}" for bdf, node in one.gpus
             if node is not None and node not in bound]
    strays = {node for node in bound - one.nodes if node in host.cpus}
    if found or not strays or not one.nodes or _size(one) > _room(one, host):
        return found
    return [f"its memory may come from node {', '.join(map(str, sorted(strays)))}, where none of its GPUs is"]


def _lies_wrong(one: Placed, memory: dict[int, int], host: Topology) -> list[str]:
    total = sum(memory.values())
    far = {node: size for node, size in memory.items() if node not in one.nodes and size and node in host.cpus}
    distant = sum(far.values())
    if distant < _FAR_LEAST_KIB or distant < _FAR_SHARE * total or total > _room(one, host) or not one.nodes:
        return []
    places = ", ".join(f"node{node}" for node in far)
    gpus = ", ".join(f"node{node}" for node in sorted(one.nodes))
    return [f"{_gib(distant)} of its {_gib(total)} GiB of memory lie on {places}, its GPUs are at {gpus}"]


def _size(one: Placed) -> int:
    return ((one.configured or {}).get("memory_mib") or 0) << 10


def _room(one: Placed, host: Topology) -> int:
    """All memory of the nodes of its GPUs; unlimited if that is not known."""
    sizes = [host.memory_kib[node] for node in one.nodes]
    return sum(sizes) if all(sizes) else 1 << 62


def _gib(kib: int) -> str:
    return f"{kib / GIB:.0f}"
