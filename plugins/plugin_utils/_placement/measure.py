# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Rate the placement of all guests of a host by five figures; the first one that differs decides."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .place import Guest, Place
from .topology import LOCAL_DISTANCE, Topology


class Measure(NamedTuple):
    """Lower is better, and figures are compared in this order.

    shared_vcpus: vCPUs that share a core with another guest's vCPU, or a thread with one of their own guest, while
    other cores are free. gpu_distance, memory_distance: mean NUMA distances, 10 within a node. nodes_spanned,
    caches_spanned: the number of nodes and last-level caches with CPUs of a guest, summed over guests; None for caches
    if the kernel does not report them.
    """

    shared_vcpus: float
    gpu_distance: float | None
    memory_distance: float | None
    nodes_spanned: int
    caches_spanned: int | None

    @property
    def rank(self) -> tuple[float, ...]:
        return tuple(figure or 0 for figure in self)


class Own(NamedTuple):
    """What one guest contributes to a measure, apart from sharing: distances and counts as in Measure."""

    gpus: int
    gpu_distance: float
    memory_distance: float
    nodes: int
    caches: int


def own(top: Topology, guest: Guest, place: Place) -> Own:
    at = top.shares(place.cpus)
    nodes = [node for _bdf, node in guest.gpus if node is not None] if at else []
    return Own(len(nodes), _gpu_distance(top, at, nodes) if nodes else 0.0,
               _memory_distance(top, at, place.memory), len(at), top.caches(place.cpus))


def measure(top: Topology, placed: Iterable[tuple[Guest, Place]]) -> Measure:
    """The measure of guests, each with its present or proposed place."""
    placed = list(placed)
    owned = [own(top, guest, place) for guest, place in placed]
    return Measure(round(_shared(top, placed), 2), _mean((one.gpus, one.gpu_distance) for one in owned),
                   _mean((guest.vcpus, one.memory_distance) for (guest, _place), one in zip(placed, owned)),
                   sum(one.nodes for one in owned), sum(one.caches for one in owned) if top.knows_caches else None)


def as_json(measured: Measure) -> dict[str, Any]:
    return measured._asdict()


def _mean(weighted: Iterable[tuple[float, float]]) -> float | None:
    pairs = [(weight, figure) for weight, figure in weighted if weight]
    total = sum(weight for weight, _figure in pairs)
    return round(sum(weight * figure for weight, figure in pairs) / total, 2) if total else None


def _shared(top: Topology, placed: Iterable[tuple[Guest, Place]]) -> float:
    """A bound guest's vCPUs are spread evenly over the cores it may use; a guest without a binding finds free threads.

    If more than one vCPU keeps a core busy, those share that do not belong to the guest with most vCPUs on it: vCPUs of
    one guest may have a thread each. At most as many are counted as there are free cores.
    """
    total, most = [0.0] * len(top.cores), [0.0] * len(top.cores)
    unbound, too_many = 0.0, 0
    for guest, place in placed:
        known = 0 if place.cpus is None else len(place.cpus & top.all_cpus)
        if not known or known == len(top.all_cpus):
            unbound += guest.vcpus / top.threads
            continue
        cores = top.places(place.cpus)
        load = min(guest.vcpus, known) / len(cores)
        too_many += max(0, guest.vcpus - known)
        for core in cores:
            total[core] += load
            if load > most[core]:
                most[core] = load
    free = max(0.0, sum(max(0.0, 1 - load) for load in total) - unbound)
    shared = sum(min(load - of_one, load - 1) for load, of_one in zip(total, most) if load > 1)
    return min(shared + too_many, free)


def _gpu_distance(top: Topology, at: Mapping[int, float], gpus: list[int]) -> float:
    """The mean distance if each GPU is served by an equal part of the CPUs, the nearest ones first. A guest with GPUs
    at two nodes is therefore near to them only if it has CPUs at both."""
    cpus, wanted = dict(at), {node: gpus.count(node) / len(gpus) for node in sorted(set(gpus))}
    found = 0.0
    for distance, node, gpu in sorted((top.distance(node, gpu), node, gpu) for node in cpus for gpu in wanted):
        part = min(cpus[node], wanted[gpu])
        found += part * distance
        cpus[node] -= part
        wanted[gpu] -= part
    return found


def _memory_distance(top: Topology, at: Mapping[int, float], memory: Mapping[int, int] | None) -> float:
    """From any of its CPUs to any of its memory: Proxmox VE binds no virtual CPU to a node, so each may use all."""
    total = sum(memory.values()) if memory else 0
    lies = {node: size / total for node, size in memory.items()} if memory and total else at
    return sum(share * part * top.distance(node, other) for node, share in at.items()
               for other, part in lies.items()) if at else LOCAL_DISTANCE
