# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""How memory and interrupts lie to sockets, nodes and GPUs."""
from __future__ import annotations

from typing import Any

from ...module_utils._kernel.cpulist import parse_cpulist
from .._render.text import count
from .reading import hidden, known, lost, value

_EVEN = 0.75        # of the largest node: the kernel keeps a few percent of the first one for itself


def numa(nodes: list[dict[str, Any]], cpu: dict[str, Any]) -> dict[str, Any]:
    """`derived.numa`: readings of nodes for each socket and what that is called, nodes without memory, uneven ones.

    Nodes without CPUs (CXL, HBM, GPUs) are no part of it. AMD calls the number NPS or, with a node for each L3 cache,
    L3 as NUMA; Intel calls it SNC.
    """
    with_cpus = [node for node in nodes if node["cpus"]]
    sockets = cpu["sockets"]
    on = f" on {count(sockets, 'socket')}" if sockets else ""
    found = {"with_cpus": len(with_cpus), "layout": f"{count(len(with_cpus), 'node')} with CPUs{on}",
             **dict.fromkeys(("per_socket", "without_memory", "uneven"), lost("absent"))}
    status = hidden(node["memory_kib"] for node in nodes)
    if status:
        return {**found, **dict.fromkeys(("per_socket", "without_memory", "uneven"), lost(status))}
    if sockets and with_cpus and len(with_cpus) % sockets == 0:
        found["per_socket"] = known(len(with_cpus) // sockets)
    sizes = {node["node"]: value(node["memory_kib"]) for node in with_cpus}
    if with_cpus and None not in sizes.values():        # a node whose meminfo is missing is not one without memory
        filled = {name: size for name, size in sizes.items() if size}
        found["without_memory"] = known([f"{name} (CPUs {_cpus(with_cpus, name)})" for name in sizes
                                         if name not in filled])
        found["uneven"] = known(_uneven(filled))
    return found


def _cpus(nodes: list[dict[str, Any]], name: str) -> str:
    return next(node["cpus"] for node in nodes if node["node"] == name)


def _uneven(sizes: dict[str, int]) -> list[str]:
    most = max(sizes.values(), default=0)
    return [f"{name} has {size >> 20} GiB, the largest node {most >> 20} GiB" for name, size in sizes.items()
            if size < _EVEN * most]


def remote_interrupts(gpu: dict[str, Any]) -> dict[str, Any]:
    """A reading of `[{irq, cpus, command, undo}]`: interrupts of a GPU that CPUs of another node take.

    What counts is the CPU that takes them now (effective_affinity_list); where the kernel does not show it, the set
    that is allowed to. An interrupt that may go to near and far CPUs alike is not called remote.
    """
    facts = [gpu["local_cpus"], *(entry[name] for entry in gpu["interrupts"] for name in ("affinity", "effective"))]
    status = hidden(facts) or (None if gpu["local_cpus"]["status"] == "ok" else "absent")
    if status:
        return lost(status)
    told = [entry for entry in gpu["interrupts"] if value(entry["effective"]) or value(entry["affinity"])]
    if gpu["interrupts"] and not told:
        return lost("absent")       # of no interrupt it is known where it goes
    near, found = set(parse_cpulist(gpu["local_cpus"]["value"])), []
    for entry in gpu["interrupts"]:
        cpus = value(entry["effective"]) or value(entry["affinity"])
        # A node without CPUs, or whose CPUs are all offline, has none to take an interrupt.
        if cpus and near and near.isdisjoint(parse_cpulist(cpus)):
            file = f"/proc/irq/{entry['irq']}/smp_affinity_list"
            allowed = value(entry["affinity"])
            found.append({"irq": entry["irq"], "cpus": cpus, "command": f"echo {gpu['local_cpus']['value']} > {file}",
                          "undo": f"echo {allowed} > {file}" if allowed else None})
    return known(found)
