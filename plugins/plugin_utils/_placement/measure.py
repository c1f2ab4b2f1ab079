# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""How good the placement of all guests of a host is: five figures, the first one that differs decides."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .place import Guest, Place
from .topology import LOCAL_DISTANCE, Topology


class Measure(NamedTuple):
    """Less is better, and the first figure counts first.

    shared_vcpus: vCPUs that share a core with those of another guest, or a thread with those of their own, while other
    cores are free. gpu_distance, memory_distance: means of NUMA distances, 10 for the same node. nodes_spanned,
    caches_spanned: over how many nodes and last-level caches the guests' CPUs lie, all guests added; None for caches
    where the kernel does not tell them.
    """

    shared_vcpus: float
    gpu_distance: float | None
    memory_distance: float | None
    nodes_spanned: int
    caches_spanned: int | None

    @property
    def rank(self) -> tuple[float, ...]:
        return tuple(figure or 0 for figure in self)


def measure(top: Topology, placed: Iterable[tuple[Guest, Place]]) -> Measure:
    """Of guests and where each of them is, or would be."""
    placed = list(placed)
    shares = [(guest, place, top.shares(place.cpus)) for guest, place in placed]
    return Measure(round(_shared(top, placed), 2), _mean(_gpu_distances(top, shares)), _mean(
        (guest.vcpus, _memory_distance(top, at, place.memory)) for guest, place, at in shares),
        sum(len(at) for _guest, _place, at in shares),
        sum(_caches(top, place.cpus) for _guest, place in placed) if top.knows_caches else None)


def as_json(measured: Measure) -> dict[str, Any]:
    return measured._asdict()


def _mean(weighted: Iterable[tuple[float, float]]) -> float | None:
    pairs = [(weight, figure) for weight, figure in weighted if weight]
    total = sum(weight for weight, _figure in pairs)
    return round(sum(weight * figure for weight, figure in pairs) / total, 2) if total else None


def _shared(top: Topology, placed: Iterable[tuple[Guest, Place]]) -> float:
    """A bound guest's vCPUs are spread evenly over the cores that it may use; one that is not bound finds what is free.

    On a core that more than one vCPU keeps busy those share that do not belong to the guest with most of them there: a
    guest's own vCPUs may have a thread each. Never more share than there are cores free.
    """
    total, most = [0.0] * len(top.cores), [0.0] * len(top.cores)
    unbound, too_many = 0.0, 0
    for guest, place in placed:
        known = None if place.cpus is None else place.cpus & top.all_cpus
        if not known or len(known) == len(top.all_cpus):
            unbound += guest.vcpus
            continue
        cores = {top.core_of[cpu] for cpu in known}
        load = min(guest.vcpus, len(known)) / len(cores)
        too_many += max(0, guest.vcpus - len(known))
        for core in cores:
            total[core] += load
            most[core] = max(most[core], load)
    free = max(0.0, sum(max(0.0, 1 - load) for load in total) - unbound)
    shared = sum(min(load - of_one, load - 1) for load, of_one in zip(total, most) if load > 1)
    return min(shared + too_many, free)


def _gpu_distances(top: Topology, shares: Iterable[tuple[Guest, Place, Mapping[int, float]]]
                   ) -> Iterable[tuple[int, float]]:
    """For each guest with GPUs, weighted by their number, the mean of two: from its CPUs to the GPU that is nearest to
    each, and from its GPUs to the nearest of its CPUs. So a guest with GPUs at two nodes is near to them only if it
    has CPUs at both."""
    for guest, _place, at in shares:
        nodes = [node for _bdf, node in guest.gpus if node is not None]
        if not nodes or not at:
            continue
        there = sum(share * min(top.distance(node, gpu) for gpu in nodes) for node, share in at.items())
        back = sum(min(top.distance(node, gpu) for node in at) for gpu in nodes) / len(nodes)
        yield len(nodes), (there + back) / 2


def _memory_distance(top: Topology, at: Mapping[int, float], memory: Mapping[int, int] | None) -> float:
    """From any of its CPUs to any of its memory: Proxmox VE binds a virtual CPU to no node, so each may use all."""
    total = sum(memory.values()) if memory else 0
    lies = {node: size / total for node, size in memory.items()} if memory and total else at
    return sum(share * part * top.distance(node, other) for node, share in at.items()
               for other, part in lies.items()) if at else LOCAL_DISTANCE


def _caches(top: Topology, cpus: frozenset[int] | None) -> int:
    cores = top.cores if cpus is None else (top.cores[top.core_of[cpu]] for cpu in cpus if cpu in top.core_of)
    return len({core.cache for core in cores})
