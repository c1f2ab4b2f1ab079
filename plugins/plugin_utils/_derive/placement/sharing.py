# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Guests that share cores although others are free, and interrupts of other guests' GPUs on their CPUs.

A guest bound to more cores than it has CPUs uses a pool: as long as the pool has a core for each CPU of its guests,
the scheduler finds one, and they do not compete.
"""
from __future__ import annotations

from typing import Any

from ....module_utils._kernel.cpulist import parse_cpulist
from ..reading import hidden, known, lost, value
from .situation import Cpus, Placed, Topology, shown

Cores = frozenset[int]


def bound_cores(everything: list[Placed], host: Topology) -> dict[str, Cores]:
    """The cores, by number, of everything that is bound to CPUs by configuration and runs or will run."""
    found = {}
    for one in everything:
        bound = one.bound()
        if bound is not None and one.starts and bound & host.online:
            found[one.subject] = cores_of(bound, host)
    return found


def cores_of(cpus: Cpus, host: Topology) -> Cores:
    return frozenset(number for number, core in enumerate(host.cores) if core & cpus)


def judge_sharing(one: Placed, everything: list[Placed], host: Topology) -> dict[str, Any]:
    """A reading of sentences: which guests it shares cores with although enough others are free."""
    unread = _hidden(everything)
    mine = one.bound()
    if unread or mine is None or not mine & host.online:
        return lost(unread) if unread else known([])
    cores = bound_cores(everything, host)
    own = cores_of(mine, host)
    others = [other for other in everything if other.subject != one.subject and other.subject in cores
              and cores[other.subject] & own and not _rivals(one, other)]
    if not others:
        return known([])
    if not host.cores_told:
        return lost("which CPUs share a core is not known")
    pool = own.union(*(cores[other.subject] for other in others))
    needed = _needed(one, own) + sum(_needed(other, cores[other.subject]) for other in others)
    taken = own.union(*cores.values())
    free = len([core for number, core in enumerate(host.cores) if number not in taken and core & host.online])
    if needed <= len(pool) or free < needed - len(pool):
        return known([])
    shared = own & frozenset().union(*(cores[other.subject] for other in others))
    names = ", ".join(other.subject for other in others)
    return known([f"it shares {len(shared)} cores (CPUs {shown(_cpus_of(shared, host))}) with {names}, "
                  f"while {free} cores are free"])


def _hidden(everything: list[Placed]) -> str | None:
    """The status of a CPU list that could not be read."""
    return hidden(one.configured["cpus"] for one in everything if one.configured is not None)


def _needed(one: Placed, cores: Cores) -> int:
    """The number of cores that it needs: the scheduler gives each CPU its own core as long as there is one."""
    demand = one.demand()
    return len(cores) if demand is None else min(len(cores), demand)


def _rivals(one: Placed, other: Placed) -> bool:
    """Whether two VMs are given the same GPU and so never run at once."""
    return one.kind == other.kind == "vm" and not one.bdfs.isdisjoint(other.bdfs)


def _cpus_of(cores: Cores, host: Topology) -> Cpus:
    return frozenset().union(*(host.cores[number] for number in cores)) & host.online


def judge_interrupts(one: Placed, everything: list[Placed], host: Topology,
                     gpus: list[dict[str, Any]]) -> dict[str, Any]:
    """A reading of `[{bdf, irq, cpus, to}]`: interrupts of other guests' GPUs that its CPUs handle, and the CPUs local
    to that GPU that could handle them: free ones, or those of the GPU's user."""
    unread = _hidden(everything) or hidden(reading for gpu in gpus for reading in (
        gpu["numa_node"], *(entry["effective"] for entry in gpu["interrupts"])))
    mine = one.bound()
    if unread or mine is None:
        return lost(unread) if unread else known([])
    found = []
    for gpu in gpus:
        if gpu["bdf"] in one.bdfs:
            continue
        free, near = _may_take(gpu, everything, host), host.near({value(gpu["numa_node"])})
        for entry in gpu["interrupts"] if free else ():
            cpus = value(entry["effective"])
            # An interrupt on the wrong node is reported for the GPU.
            if cpus and set(parse_cpulist(cpus)) <= mine & near:
                found.append({"bdf": gpu["bdf"], "irq": entry["irq"], "cpus": cpus, "to": shown(free)})
    return known(found)


def _may_take(gpu: dict[str, Any], everything: list[Placed], host: Topology) -> Cpus:
    """CPUs at the GPU's node that are not bound to others."""
    near = host.near({value(gpu["numa_node"])})
    for one in everything:
        bound = one.bound()
        if bound is not None and gpu["bdf"] not in one.bdfs:
            near -= bound
    return near
