# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The free cores and memory of each node while guests are placed one after the other."""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from .place import Guest, Part, Place
from .situation import Situation
from .topology import Core, Topology

MOST_PARTS = 8              # $MAX_NUMA of PVE/QemuServer/Memory.pm
_PAGES_MIB = {"1024": 1024, "any": 2, "2": 2}


class Room:
    """The unassigned cores of each node, and its memory in MiB. Only whole cores are assigned, so that guests never
    share one. A core with a CPU that guests may not use counts as taken, also in `whole_nodes`."""

    def __init__(self, there: Situation) -> None:
        self.top: Topology = there.topology
        self.cores: dict[int, list[Core]] = {
            node.id: [core for core in node.cores if there.usable.issuperset(core.cpus)]
            for node in self.top.nodes.values()}
        self.whole_nodes = {node: tuple(cores) for node, cores in self.cores.items()}
        self.memory = {node.id: node.capacity_mib for node in self.top.nodes.values()}
        self.promised = dict.fromkeys(self.cores, 0)        # threads of `cores`, before cores are selected
        self.shared = dict.fromkeys(self.cores, 0)          # vCPUs of the guests that share the remaining cores
        self._threads = {node: _thread_count(cores) for node, cores in self.cores.items()}

    def threads(self, node: int) -> int:
        return self._threads[node] - self.promised[node]

    def occupy(self, guest: Guest, place: Place) -> None:
        """Keep a guest at its present place."""
        for node, size in memory_at(guest, place).items():
            if node in self.memory:
                self.memory[node] -= size
        if place.cpus is not None and not place.cpus >= self.top.all_cpus:
            for node, cores in self.cores.items():
                self.cores[node] = [core for core in cores if place.cpus.isdisjoint(core.cpus)]
                self._threads[node] = _thread_count(self.cores[node])

    def overlaps(self, place: Place) -> bool:
        """Whether a place contains a core that is taken."""
        left = {cpu for cores in self.cores.values() for core in cores for cpu in core.cpus}
        return not (place.cpus or frozenset()) <= left

    def promise(self, parts: Iterable[Part]) -> None:
        for part in parts:
            self.promised[part.node] += math.ceil(part.vcpus / self.top.threads) * self.top.threads
            self.memory[part.node] -= part.memory_mib

    def share(self, parts: Iterable[Part]) -> None:
        for part in parts:
            self.shared[part.node] += part.vcpus
            self.memory[part.node] -= part.memory_mib

    def whole(self, guest: Guest, node: int) -> list[Part] | None:
        """A whole guest at one node; None if it does not fit."""
        memory = wanted_memory(guest, self.top)
        fits = self.threads(node) >= guest.vcpus and self.memory[node] >= memory and can_bind_to(guest, node)
        return [Part(node, guest.vcpus, memory)] if fits else None

    def cpus_only(self, guest: Guest, node: int) -> list[Part] | None:
        """The CPUs of a guest at a node without enough free memory for it, which would suffice if it were empty."""
        fits = self.threads(node) >= guest.vcpus and self.top.nodes[node].capacity_mib >= wanted_memory(guest, self.top)
        return [Part(node, guest.vcpus, 0)] if fits else None

    def split(self, guest: Guest, nodes: Iterable[int], weights: Mapping[int, float] | None = None
              ) -> list[Part] | None:
        """A guest over several nodes, filled in order, or divided by weight. None if it does not fit."""
        memory, left, parts = wanted_memory(guest, self.top), 1.0, []
        for node in nodes:
            most = min(1.0, self.threads(node) / max(1, guest.vcpus),
                       self.memory[node] / memory if memory else 1.0)
            if weights is not None and most < weights[node]:
                return None
            part = min(left, most if weights is None else weights[node])
            if int(guest.vcpus * part + 1e-9) >= 1 and can_bind_to(guest, node):
                parts.append((node, part))
                left -= part
            if left < 1e-9 or len(parts) == MOST_PARTS:
                break
        return self._rounded(guest, memory, parts) if left < 1e-9 else None

    def _rounded(self, guest: Guest, memory: int, parts: list[tuple[int, float]]) -> list[Part] | None:
        """Round to whole CPUs and pages; the last part takes the remainder."""
        page = page_mib(guest)
        found, vcpus, size = [], guest.vcpus, memory
        for node, part in parts[:-1]:
            one = Part(node, int(guest.vcpus * part + 1e-9), int(memory * part + 1e-9) // page * page)
            found.append(one)
            vcpus, size = vcpus - one.vcpus, size - one.memory_mib
        found.append(Part(parts[-1][0], vcpus, size))
        fits = all(part.vcpus >= 1 and self.threads(part.node) >= part.vcpus and self.memory[part.node] >=
                   part.memory_mib and (part.memory_mib > 0 or not memory) for part in found)
        return found if fits else None


def _thread_count(cores: Iterable[Core]) -> int:
    return sum(len(core.cpus) for core in cores)


def binds(guest: Guest, top: Topology) -> bool:
    """Whether the configuration can bind the memory of a guest: that of a VM, unless memory hotplug is enabled."""
    return (guest.kind == "vm" and top.has_numa and bool(guest.memory_mib) and not guest.configured.memory_hotplug
            and guest.memory_mib % page_mib(guest) == 0)


def can_bind_to(guest: Guest, node: int) -> bool:
    """qemu-server takes huge pages only from a node with a one-digit number (hugepages_topology(), Memory.pm)."""
    return guest.configured.huge_pages is None or node < 10


def wanted_memory(guest: Guest, top: Topology) -> int:
    """MiB to bind."""
    return guest.memory_mib or 0 if binds(guest, top) else 0


def page_mib(guest: Guest) -> int:
    """The granularity for dividing its memory."""
    return _PAGES_MIB.get(guest.configured.huge_pages or "", 1)


def memory_at(guest: Guest, place: Place) -> dict[int, int]:
    """MiB that a guest takes of each node, bound or allocated. Memory that is not bound goes where there is room."""
    if place == guest.now and guest.reserved:
        lies = place.memory or {}
        return {node: max(guest.reserved.get(node, 0), lies.get(node, 0)) for node in {*guest.reserved, *lies}}
    return dict(place.memory or {})
