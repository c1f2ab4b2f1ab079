# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A second implementation of the measure in docs/placement.md, with fractions, to verify the figures."""
from __future__ import annotations

from fractions import Fraction
from typing import Any

from placement_checker import numbers


def figures(facts: dict[str, Any], entries: list[dict[str, Any]], which: str) -> tuple[float, ...]:
    """The figures for `now` or `proposed` of the guests of a placement.json."""
    host = _Host(facts)
    placed = [(entry, host.cpus(entry[which]["cpus"]), host.memory(entry, which)) for entry in entries]
    gpu_weights = [(sum(gpu["node"] is not None for gpu in entry["gpus"]), host.gpu_distance(entry, cpus))
                   for entry, cpus, _memory in placed]
    return (host.shared(placed), _mean(gpu_weights),
            _mean([(entry["vcpus"], host.memory_distance(cpus, memory)) for entry, cpus, memory in placed]),
            sum(len({host.node_of[cpu] for cpu in cpus}) for _entry, cpus, _memory in placed),
            sum(len({host.cache_of[cpu] for cpu in cpus}) for _entry, cpus, _memory in placed))


def _mean(pairs: list[tuple[int, Fraction]]) -> float:
    total = sum(weight for weight, _figure in pairs)
    return float(sum((weight * figure for weight, figure in pairs), Fraction()) / total) if total else 0.0


def _bound(configured: dict[str, Any]) -> dict[int, Fraction]:
    """Memory by the nodes in a configuration; empty if a virtual node is bound to none."""
    machine = configured["vm"]
    if machine is None or not machine["numa_nodes"]:
        named = configured["memory_nodes"]["value"]
        return dict.fromkeys(numbers(named), Fraction(1)) if named else {}
    sizes: dict[int, Fraction] = {}
    for node in machine["numa_nodes"]:
        at = numbers(node["hostnodes"]) if node["hostnodes"] else set()
        for one in at:
            sizes[one] = sizes.get(one, Fraction()) + Fraction(node["memory_mib"], len(at))
    return sizes if all(node["hostnodes"] for node in machine["numa_nodes"]) else {}


class _Host:
    def __init__(self, facts: dict[str, Any]) -> None:
        nodes = facts["numa"]["nodes"]
        self.node_of = {cpu: node["id"] for node in nodes if node["cpus"] for cpu in numbers(node["cpus"])}
        self.core_of = {cpu: cpu for cpu in self.node_of} | self._groups(facts["placement"]["cores"])
        self.threads = max(map(len, map(numbers, facts["placement"]["cores"])))
        caches = self._groups(facts["placement"]["l3"])
        self.cache_of = {cpu: caches.get(cpu, -1) for cpu in self.node_of}
        self.knows_caches = -1 not in self.cache_of.values()
        order = [node["id"] for node in nodes]
        self.distances = {(node["id"], other): distance for node in nodes
                          for other, distance in zip(order, node["distances"])}
        self.bound = {guest["subject"]: _bound(guest["configured"]) for guest in facts["placement"]["guests"]["value"]}
        self.real = {guest["subject"]: guest["real"] for guest in facts["placement"]["guests"]["value"]}

    @staticmethod
    def _groups(lists: list[str]) -> dict[int, int]:
        return {cpu: place for place, text in enumerate(lists) for cpu in numbers(text)}

    def cpus(self, text: str | None) -> set[int]:
        return set(self.node_of) if text is None else numbers(text) & set(self.node_of)

    def memory(self, entry: dict[str, Any], which: str) -> dict[int, Fraction] | None:
        """Shares of a guest's memory by node; None if it is where its CPUs are."""
        if which == "proposed" and entry["changed"]:
            sizes = {}
            for text in entry["proposed"]["virtual_nodes"]:
                part = dict(pair.split("=") for pair in text.split(","))
                sizes[int(part["hostnodes"])] = int(part["memory"])
            if not sizes and entry["proposed"]["memory_nodes"]:
                is_vm = entry["subject"].startswith("vm:")
                sizes = self.bound[entry["subject"]] if is_vm else dict.fromkeys(
                    numbers(entry["proposed"]["memory_nodes"]), 1)
        else:
            rows = (self.real.get(entry["subject"]) or {}).get("memory", {}).get("value") or []
            sizes = {row["node"]: row["anon_kib"] + row["shmem_kib"] + row["hugetlb_kib"] for row in rows}
            if not any(sizes.values()):
                sizes = self.bound.get(entry["subject"], {})
        total = sum(sizes.values())
        return {node: Fraction(size, total) for node, size in sizes.items() if size} if total else None

    def parts(self, cpus: set[int]) -> dict[int, Fraction]:
        cores = {(self.node_of[cpu], self.core_of[cpu]) for cpu in cpus}
        return {node: Fraction(sum(one == node for one, _core in cores), len(cores)) for node, _core in cores}

    def gpu_distance(self, entry: dict[str, Any], cpus: set[int]) -> Fraction:
        gpus = [gpu["node"] for gpu in entry["gpus"] if gpu["node"] is not None]
        if not gpus:
            return Fraction()
        supply = self.parts(cpus)
        demand = {gpu: Fraction(gpus.count(gpu), len(gpus)) for gpu in gpus}
        found = Fraction()
        while any(supply.values()):
            distance, node, gpu = min((self.distances[node, gpu], node, gpu) for node in supply for gpu in demand
                                      if supply[node] and demand[gpu])
            part = min(supply[node], demand[gpu])
            found, supply[node], demand[gpu] = found + part * distance, supply[node] - part, demand[gpu] - part
        return found

    def memory_distance(self, cpus: set[int], memory: dict[int, Fraction] | None) -> Fraction:
        parts = self.parts(cpus)
        return sum((part * share * self.distances[node, other] for node, part in parts.items()
                    for other, share in (parts if memory is None else memory).items()), Fraction())

    def shared(self, placed: list) -> float:
        cores = {(self.node_of[cpu], self.core_of[cpu]) for cpu in self.node_of}
        loads: dict[tuple[int, int], list[Fraction]] = {core: [] for core in cores}
        anywhere, without_thread = Fraction(), 0
        for entry, cpus, _memory in placed:
            if len(cpus) == len(self.node_of):
                anywhere += Fraction(entry["vcpus"], self.threads)
                continue
            own = {(self.node_of[cpu], self.core_of[cpu]) for cpu in cpus}
            without_thread += max(0, entry["vcpus"] - len(cpus))
            for core in own:
                loads[core].append(Fraction(min(entry["vcpus"], len(cpus)), len(own)))
        free = sum((max(Fraction(), 1 - sum(found)) for found in loads.values()), Fraction()) - anywhere
        sharing = sum((min(sum(found) - max(found), sum(found) - 1) for found in loads.values() if sum(found) > 1),
                      Fraction())
        return float(max(Fraction(), min(sharing + without_thread, free)))
