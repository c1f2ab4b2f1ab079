# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether another cluster node has the CPUs and NUMA nodes that a VM is bound to.

qemu-server fails for a host node that does not exist (PVE/QemuServer/Memory.pm, print_numa_hostnodes()); memory bound
to a node (MPOL_BIND) comes from no other.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module_utils._kernel.cpulist import format_cpulist, parse_cpulist
from ..reading import value


def place_on(configured: Mapping[str, Any], peer: Mapping[str, Any]) -> list[str]:
    """Sentences about what a VM is bound to but the other node lacks; `configured`: of the facts' `placement.guests`.
    """
    there = {node["id"]: node for node in peer["numa"]["nodes"]}
    found = []
    cpus = set(parse_cpulist(value(configured["cpus"]) or ""))
    missing = cpus - {cpu for node in there.values() for cpu in parse_cpulist(node["cpus"])}
    if missing:
        found.append(f"affinity: it has no CPUs {format_cpulist(missing)}")
    for virtual in configured["vm"]["numa_nodes"] if configured["vm"]["numa"] else ():
        found += _node_on(virtual, there)
    return found


def _node_on(virtual: Mapping[str, Any], there: Mapping[int, Mapping[str, Any]]) -> list[str]:
    try:
        nodes = parse_cpulist(virtual["hostnodes"] or "")
    except ValueError:
        return []
    missing = [node for node in nodes if node not in there]
    if missing:
        return [f"{virtual['key']}: it has no node {format_cpulist(missing)}"]
    sizes = [value(there[node]["memory_kib"]) for node in nodes]
    wanted = (virtual["memory_mib"] or 0) << 10
    if virtual["policy"] != "bind" or not nodes or None in sizes or wanted <= sum(filter(None, sizes)):
        return []
    names, size = format_cpulist(nodes), sum(filter(None, sizes)) >> 20
    return [f"{virtual['key']}: node {names} has {size} GiB there, and {wanted >> 20} GiB are bound to it"]
