# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""NUMA layout: nodes and memory by socket, and interrupts relative to their GPUs."""
from __future__ import annotations

from typing import Any

from ...module_utils._kernel.cpulist import parse_cpulist
from .._render.text import count
from .reading import hidden, known, lost, value

_MOST_NPS = 4
_EVEN = 0.75        # of the largest node: the kernel reserves a few percent of the first one


def numa(nodes: list[dict[str, Any]], cpu: dict[str, Any]) -> dict[str, Any]:
    """`derived.numa`: readings of nodes per socket and the mode's name, nodes without memory, and uneven nodes.

    Nodes without CPUs (CXL, HBM, GPUs) do not count. AMD calls the mode NPS or, with one node per L3 cache, L3 as NUMA;
    Intel calls it SNC.
    """
    with_cpus = [node for node in nodes if node["cpus"]]
    sockets = cpu["sockets"]
    on = f" on {count(sockets, 'socket')}" if sockets else ""
    found = {"with_cpus": len(with_cpus), "layout": f"{count(len(with_cpus), 'node')} with CPUs{on}",
             "split": _split(len(with_cpus) // sockets, cpu.get("vendor")) if sockets else None,
             **dict.fromkeys(("per_socket", "without_memory", "uneven"), lost("absent"))}
    status = hidden(node["memory_kib"] for node in nodes)
    if status:
        return {**found, **dict.fromkeys(("per_socket", "without_memory", "uneven"), lost(status))}
    if sockets and with_cpus and len(with_cpus) % sockets == 0:
        found["per_socket"] = known(len(with_cpus) // sockets)
    sizes = {node["node"]: value(node["memory_kib"]) for node in with_cpus}
    if with_cpus and None not in sizes.values():        # a node without meminfo is not a node without memory
        filled = {name: size for name, size in sizes.items() if size}
        found["without_memory"] = known([f"{name} (CPUs {_cpus(with_cpus, name)})" for name in sizes
                                         if name not in filled])
        found["uneven"] = known(_uneven(filled))
    return found


def _split(nodes: int, vendor: str | None) -> str:
    """What the BIOS calls this many nodes for each socket: AMD has NPS1, 2 and 4 (its BIOS tuning guides for EPYC), so
    more are one for each L3 cache."""
    if vendor == "GenuineIntel":
        return f"SNC{nodes}"
    if vendor == "AuthenticAMD":
        return f"NPS{nodes}" if nodes <= _MOST_NPS else "L3 cache as NUMA domain"
    return f"a split into {nodes} nodes for each socket"


def _cpus(nodes: list[dict[str, Any]], name: str) -> str:
    return next(node["cpus"] for node in nodes if node["node"] == name)


def _uneven(sizes: dict[str, int]) -> list[str]:
    most = max(sizes.values(), default=0)
    return [f"{name} has {size >> 20} GiB, the largest node {most >> 20} GiB" for name, size in sizes.items()
            if size < _EVEN * most]


def remote_interrupts(gpu: dict[str, Any]) -> dict[str, Any]:
    """A reading of `[{irq, cpus, command, undo}]`: interrupts of a GPU that are handled by CPUs of another node.

    The CPU that handles them now counts (effective_affinity_list); if the kernel does not show it, the set of allowed
    CPUs. An interrupt that may go to both near and far CPUs does not count as remote.
    """
    facts = [gpu["local_cpus"], *(entry[name] for entry in gpu["interrupts"] for name in ("affinity", "effective"))]
    status = hidden(facts) or (None if gpu["local_cpus"]["status"] == "ok" else "absent")
    if status:
        return lost(status)
    told = [entry for entry in gpu["interrupts"] if value(entry["effective"]) or value(entry["affinity"])]
    if gpu["interrupts"] and not told:
        return lost("absent")       # the CPU of no interrupt is known
    near, found = set(parse_cpulist(gpu["local_cpus"]["value"])), []
    for entry in gpu["interrupts"]:
        cpus = value(entry["effective"]) or value(entry["affinity"])
        # A node without online CPUs cannot handle an interrupt.
        if cpus and near and near.isdisjoint(parse_cpulist(cpus)):
            file = f"/proc/irq/{entry['irq']}/smp_affinity_list"
            allowed = value(entry["affinity"])
            found.append({"irq": entry["irq"], "cpus": cpus, "command": f"echo {gpu['local_cpus']['value']} > {file}",
                          "undo": f"echo {allowed} > {file}" if allowed else None})
    return known(found)
