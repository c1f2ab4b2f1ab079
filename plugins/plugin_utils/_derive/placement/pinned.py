# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Memory pinned by VMs with passed-through devices, compared with that of the host and its nodes.

vfio pins all memory of such a VM when it starts (Documentation/driver-api/vfio.rst): neither swap nor KSM nor a balloon
can reclaim it. The memory of other guests comes on top.
"""
from __future__ import annotations

from typing import Any

from ....module_utils._kernel.cpulist import parse_cpulist
from ..reading import hidden, known, lost, value
from .memory import held
from .situation import Placed, Topology

GIB_IN_MIB = 1 << 10


def judge_pinned(everything: list[Placed], with_devices: set[str], host: Topology,
                 total_kib: dict[str, Any]) -> dict[str, Any]:
    """A reading of sentences. `with_devices`: subjects of the VMs that are given PCI devices."""
    total = value(total_kib)
    unread = host.hidden or hidden(one.entry["real"]["memory"] for one in everything
                                   if one.kind == "lxc" and one.entry["real"])
    if total is None or unread:
        return lost(unread or total_kib["status"])
    pinning = _at_once([one for one in everything if one.subject in with_devices and one.starts])
    pinned = sum(_memory(one) for one in pinning)
    others = sum(_others(one) for one in everything if one.starts and one not in pinning
                 and one.subject not in with_devices)
    found = []
    if pinned and pinned + others > total >> 10:
        rest = f" and other guests use {_gib(others)}" if others else ""
        found.append(f"VMs with PCI devices pin {_gib(pinned)} GiB{rest}, the host has {_gib(total >> 10)}")
    return known(found + _by_node(pinning, host))


def _at_once(vms: list[Placed]) -> list[Placed]:
    """The VMs that can run at once: of those with the same GPU the running one, else the largest."""
    kept: list[Placed] = []
    for one in sorted(vms, key=lambda vm: (not vm.entry["running"], -_memory(vm))):
        if all(one.bdfs.isdisjoint(other.bdfs) for other in kept):
            kept.append(one)
    return kept


def _memory(one: Placed) -> int:
    return one.entry["configured"]["memory_mib"] or 0


def _others(one: Placed) -> int:
    """MiB: a VM's memory, or its balloon minimum; a container has only a limit, so its current use."""
    if one.kind == "vm":
        return min(_memory(one), one.entry["configured"]["vm"]["balloon_mib"] or _memory(one))
    real = one.entry["real"]
    return sum(held((value(real["memory"]) or []) if real else []).values()) >> 10 if one.kind == "lxc" else 0


def _by_node(vms: list[Placed], host: Topology) -> list[str]:
    """Memory bound to a node by numaN with the policy bind, compared with the node's."""
    bound: dict[int, int] = {}
    for one in vms:
        vm = one.entry["configured"]["vm"]
        for node in vm["numa_nodes"] if vm["numa"] else ():
            at = _one_node(node["hostnodes"]) if node["policy"] == "bind" else None
            if at is not None:
                bound[at] = bound.get(at, 0) + (node["memory_mib"] or 0)
    return [f"VMs with PCI devices bind {_gib(size)} GiB to node{node}, which has {_gib(host.memory_kib[node] >> 10)}"
            for node, size in sorted(bound.items())
            if host.memory_kib.get(node) and size > host.memory_kib[node] >> 10]


def _one_node(text: str | None) -> int | None:
    try:
        nodes = parse_cpulist(text or "")
    except ValueError:
        return None
    return nodes[0] if len(nodes) == 1 else None


def _gib(mib: int) -> str:
    return f"{mib / GIB_IN_MIB:.0f}"
