# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The topology for placement: nodes with their cores, threads, last-level caches, memory, distances."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from ...module_utils._kernel.cpulist import parse_cpulist
from .._derive.reading import value

LOCAL_DISTANCE = 10         # of a node to itself: ACPI, System Locality Information Table
_UNKNOWN_DISTANCE = 20      # REMOTE_DISTANCE of include/linux/topology.h, if the firmware reports none
_HOST_SHARE, _HOST_LEAST_MIB = 20, 2048     # reserved for the host: a twentieth of a node, at least 2 GiB


class Core(NamedTuple):
    """One core: its online threads, its node, its last-level cache (None: not reported), its kind (0 if all cores are
    alike, or for the fastest ones)."""

    cpus: tuple[int, ...]
    node: int
    cache: int | None
    kind: int


class Node(NamedTuple):
    """A NUMA node with CPUs. `memory_mib` is None if it could not be read."""

    id: int
    package: int | None
    cores: tuple[Core, ...]
    memory_mib: int | None
    distances: Mapping[int, int]

    @property
    def capacity_mib(self) -> int:
        """The memory available to guests."""
        return 0 if self.memory_mib is None else max(
            0, self.memory_mib - max(_HOST_LEAST_MIB, self.memory_mib // _HOST_SHARE))


class Topology:
    """`nodes` by number. `has_numa` is False if the kernel has no nodes: then one node represents the host, and memory
    cannot be bound."""

    def __init__(self, nodes: Iterable[Node], has_numa: bool, memory_only: Mapping[int, Mapping[int, int]]) -> None:
        self.nodes = {node.id: node for node in nodes}
        self.has_numa = has_numa
        self._memory_only = memory_only
        # Cache by CPU list: hundreds of guests have few different lists, which are looked up repeatedly.
        self._shares: dict[frozenset[int] | None, dict[int, float]] = {}
        self._caches: dict[frozenset[int] | None, int] = {}
        self._places: dict[frozenset[int], frozenset[int]] = {}

    @cached_property
    def cores(self) -> tuple[Core, ...]:
        return tuple(core for node in self.nodes.values() for core in node.cores)

    @cached_property
    def core_of(self) -> dict[int, int]:
        """The index in `cores` of each CPU."""
        return {cpu: place for place, core in enumerate(self.cores) for cpu in core.cpus}

    @cached_property
    def threads(self) -> int:
        """The largest number of threads of a core."""
        return max((len(core.cpus) for core in self.cores), default=1)

    @cached_property
    def all_cpus(self) -> frozenset[int]:
        return frozenset(self.core_of)

    @cached_property
    def knows_caches(self) -> bool:
        return bool(self.cores) and all(core.cache is not None for core in self.cores)

    def distance(self, one: int, other: int) -> int:
        """The distance between two nodes; either may have memory only."""
        row = self.nodes[one].distances if one in self.nodes else self._memory_only.get(one, {})
        return LOCAL_DISTANCE if one == other else row.get(other, _UNKNOWN_DISTANCE)

    def near(self, node: int) -> int:
        """The nearest node with CPUs: the node itself, unless it has memory only."""
        return node if node in self.nodes else min(self.nodes, key=lambda other: (self.distance(node, other), other))

    def shares(self, cpus: frozenset[int] | None) -> Mapping[int, float]:
        """The share of these CPUs at each node, by cores; None stands for all CPUs."""
        if cpus not in self._shares:
            cores = self._cores_of(cpus)
            counts = Counter(core.node for core in cores)
            self._shares[cpus] = {node: counts[node] / len(cores) for node in sorted(counts)}
        return self._shares[cpus]

    def caches(self, cpus: frozenset[int] | None) -> int:
        """The number of last-level caches of these CPUs."""
        if cpus not in self._caches:
            self._caches[cpus] = len({core.cache for core in self._cores_of(cpus)})
        return self._caches[cpus]

    def places(self, cpus: frozenset[int]) -> frozenset[int]:
        """The indexes in `cores` of these CPUs."""
        if cpus not in self._places:
            self._places[cpus] = frozenset(self.core_of[cpu] for cpu in cpus if cpu in self.core_of)
        return self._places[cpus]

    def _cores_of(self, cpus: frozenset[int] | None) -> list[Core]:
        return [self.cores[place] for place in (range(len(self.cores)) if cpus is None else self.places(cpus))]


def topology(facts: Mapping[str, Any]) -> Topology:
    """The topology from a host's facts; offline CPUs are left out."""
    described = facts["numa"]["nodes"]
    has_numa = any(node["cpus"] for node in described)
    if not has_numa:
        described = [{"id": 0, "cpus": facts["cpu"]["online"] or "", "package": 0, "distances": [LOCAL_DISTANCE],
                      "memory_kib": facts["memory"]["total_kib"], "gpu": None}]
    order = [node["id"] for node in described]
    siblings, caches, kinds = _groups(facts["placement"]["cores"]), _groups(facts["placement"]["l3"]), _kinds(facts)
    nodes = []
    for node in (node for node in described if node["cpus"]):
        kib = value(node["memory_kib"])
        nodes.append(Node(node["id"], node["package"], _cores(node, siblings, caches, kinds),
                          None if kib is None else kib >> 10, dict(zip(order, node["distances"]))))
    memory_only = {node["id"]: dict(zip(order, node["distances"])) for node in described if not node["cpus"]}
    return Topology(nodes, has_numa, memory_only)


def _groups(lists: Iterable[str]) -> dict[int, int]:
    """The number of each CPU's group: the number of its first CPU."""
    found = {}
    for text in lists:
        cpus = parse_cpulist(text)
        found.update(dict.fromkeys(cpus, min(cpus, default=0)))
    return found


def _kinds(facts: Mapping[str, Any]) -> dict[int, int]:
    """The kind of core of each CPU, in the order of the facts: performance cores first."""
    return {cpu: place for place, kind in enumerate(facts["cpu"]["kinds"]) for cpu in parse_cpulist(kind["cpus"])}


def _cores(node: Mapping[str, Any], siblings: Mapping[int, int], caches: Mapping[int, int],
           kinds: Mapping[int, int]) -> tuple[Core, ...]:
    found: dict[int, list[int]] = {}
    for cpu in parse_cpulist(node["cpus"]):
        found.setdefault(siblings.get(cpu, cpu), []).append(cpu)
    cores = [Core(tuple(cpus), node["id"], caches.get(cpus[0]), kinds.get(cpus[0], 0)) for cpus in found.values()]
    return tuple(sorted(cores, key=lambda core: (core.kind, core.cache or 0, core.cpus)))
