# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""A VM's virtual NUMA nodes: whether QEMU starts with them, and whether they are those of its GPUs.

The rules are those of qemu-server, PVE/QemuServer/Memory.pm: config() and hugepages_topology().
"""
from __future__ import annotations

from typing import Any

from ....module_utils._kernel.cpulist import parse_cpulist
from ..reading import hidden, known, lost, value
from .situation import Placed, Topology

GIB = 1 << 20                       # KiB
_WORTH_HUGE_PAGES_MIB = 32 << 10
_HUGE_MIB = {"2": 2, "1024": 1024, "any": 2}


def judge_settings(one: Placed, host: Topology) -> list[dict[str, Any]]:
    """`[{problem, starts}]`: settings that Proxmox VE rejects, so that the VM does not start, or ignores."""
    vm, configured = one.entry["configured"]["vm"], one.entry["configured"]
    numa = vm["numa_nodes"]
    found = []
    bound = one.bound()
    if bound is not None and not bound & host.online:
        found.append(_refused("affinity names no CPU that is online"))
    if not vm["numa"]:
        if numa:
            names = ", ".join(node["key"] for node in numa)
            found.append({"problem": f"{names} do nothing without numa: 1", "starts": True})
        if vm["hugepages"]:
            found.append(_refused("hugepages need numa: 1"))
        return found
    if numa and vm["hotplug_memory"]:
        found.append(_refused("memory that is plugged in (hotplug) excludes numaN"))
    for node in numa:
        found += map(_refused, _node_problems(node, vm, configured["cores"], host))
    sizes = [node["memory_mib"] for node in numa]
    if numa and None not in sizes and sum(sizes) != configured["memory_mib"]:
        found.append(_refused(f"numaN have {sum(sizes)} MiB together, memory is {configured['memory_mib']}"))
    return found


def _refused(problem: str) -> dict[str, Any]:
    return {"problem": problem, "starts": False}


def _node_problems(node: dict[str, Any], vm: dict[str, Any], cores: int, host: Topology) -> list[str]:
    key, nodes, cpus = node["key"], _numbers(node["hostnodes"]), _numbers(node["cpus"])
    found = [f"{key} has no memory"] if not node["memory_mib"] else []
    found += [f"{key} has no cpus"] if not cpus else []
    if cpus and max(cpus) >= cores:
        found.append(f"{key} names virtual CPU {max(cpus)} of {cores}")
    if nodes and not node["policy"]:
        found.append(f"{key} has hostnodes and no policy")
    missing = nodes - set(host.cpus)
    if missing:
        found.append(f"{key}: the host has no node {', '.join(map(str, sorted(missing)))}")
    if vm["hugepages"]:
        if len(nodes) != 1:
            found.append(f"{key} needs one node of hostnodes for hugepages")
        size = _HUGE_MIB.get(vm["hugepages"])
        if size and (node["memory_mib"] or 0) % size:
            found.append(f"{key}: {node['memory_mib']} MiB are no whole number of huge pages of {size} MiB")
    return found


def virtual_nodes(one: Placed) -> int:
    """How many NUMA nodes the guest sees: without numaN Proxmox VE creates one per socket."""
    vm = one.entry["configured"]["vm"]
    return 1 if not vm["numa"] else len(vm["numa_nodes"]) or vm["sockets"]


def judge_virtual_nodes(one: Placed, host: Topology) -> dict[str, Any]:
    """A reading of sentences: GPUs of several nodes in a VM with one virtual node, or the reverse."""
    seen, configured = virtual_nodes(one), one.entry["configured"]
    unread = one.unsettled or host.hidden or hidden([configured["memory_nodes"]])
    if unread:
        return lost(unread)
    names = ", ".join(f"node{node}" for node in sorted(one.nodes))
    if len(one.nodes) > seen:
        return known([f"its GPUs are at {names}, and it sees {seen} NUMA node{'s' if seen > 1 else ''}"])
    # Memory bound to other nodes is reported by the memory check.
    if len(one.nodes) != 1 or seen == 1 or value(configured["memory_nodes"]) is not None or not _fits(one, host):
        return known([])
    return known([f"its GPUs are at {names} alone, and it sees {seen} NUMA nodes"])


def _fits(one: Placed, host: Topology) -> bool:
    """Whether one node of its GPUs has enough CPUs and memory for the whole VM."""
    configured, node = one.entry["configured"], next(iter(one.nodes))
    memory_kib = (configured["memory_mib"] or 0) << 10
    return configured["cores"] <= len(host.cpus[node]) and memory_kib <= host.memory_kib[node]


def judge_huge_pages(one: Placed, free_kib: dict[int, int | None]) -> dict[str, Any]:
    """A reading of sentences: memory without huge pages that is bound to nodes and would fit there in huge pages.

    `free_kib`: free memory by node. Memory that a running VM already has at a node counts as free for it.
    """
    vm, real = one.entry["configured"]["vm"], one.entry["real"]
    if vm["hugepages"] is not None:
        return known([])
    unread = hidden([real["memory"]] if real else [])
    if unread:
        return lost(unread)
    rows = {row["node"]: row["anon_kib"] for row in (value(real["memory"]) or [] if real else [])}
    wanted: dict[int, int] = {}
    for node in vm["numa_nodes"]:
        at = _numbers(node["hostnodes"])
        if len(at) != 1:
            return known([])
        wanted[min(at)] = wanted.get(min(at), 0) + ((node["memory_mib"] or 0) << 10)
    for node, size in wanted.items():
        free = free_kib.get(node)
        if free is None:
            return lost("absent")
        if size > free + rows.get(node, 0):
            return known([])
    places = ", ".join(f"{size / GIB:.0f} GiB at node{node}" for node, size in wanted.items())
    return known([f"{places} would fit"])


def is_worth_huge_pages(one: Placed) -> bool:
    """Whether it is a large VM without huge pages, with memory bound to nodes: they need numaN with hostnodes."""
    configured = one.entry["configured"]
    vm = configured["vm"]
    return (vm["hugepages"] is None and vm["numa"] and (configured["memory_mib"] or 0) >= _WORTH_HUGE_PAGES_MIB
            and bool(vm["numa_nodes"]) and all(node["hostnodes"] for node in vm["numa_nodes"]))


def _numbers(text: str | None) -> set[int]:
    try:
        return set(parse_cpulist(text or ""))
    except ValueError:
        return set()
