# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Select the cores of its nodes for each guest: whole cores, few last-level caches, fast cores first."""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from .assign import Assignment
from .place import Guest, Part, Place
from .topology import Core

_LEFT_TO_HOST = 16      # one core in this many is reserved from guests that have enough without it


def places(found: Assignment) -> dict[str, Place] | None:
    """The place of every guest by subject; None if the cores of a node do not suffice after all."""
    top = found.room.top
    result = {guest.subject: guest.now for guest in found.staying}
    parts = [(guest, part) for guest, own in found.own for part in own]
    counts = _core_counts(found, parts)
    free = {node: list(cores) for node, cores in found.room.cores.items()}
    chosen: dict[str, list[Core]] = {}
    for (guest, part), cores in zip(parts, counts):
        picked = pick(free[part.node], cores, part.vcpus, top.threads)
        if picked is None:
            return None
        chosen.setdefault(guest.subject, []).extend(picked)
    for guest, own in found.own:
        result[guest.subject] = _place(guest, _cpus(chosen[guest.subject]), own)
    rest = {node: _cpus(_rest(found, free, node)) for node in free} if found.together else {}
    for guest, shared in found.together:
        # One node in most cases: then all guests that share it have the same set, which is hashed once.
        cpus = rest[shared[0].node].union(*(rest[part.node] for part in shared[1:]))
        result[guest.subject] = _place(guest, cpus, shared) if cpus else guest.now
    return result


def _rest(found: Assignment, free: Mapping[int, list[Core]], node: int) -> Iterable[Core]:
    """The cores shared by guests without dedicated ones: what is left of a node, or all of it if that is too little."""
    wanted = sum(part.vcpus for _guest, parts in found.together for part in parts if part.node == node)
    enough = sum(len(core.cpus) for core in free[node]) >= wanted
    return free[node] if enough else found.room.whole_nodes[node]


def _cpus(cores: Iterable[Core]) -> frozenset[int]:
    return frozenset(cpu for core in cores for cpu in core.cpus)


def _place(guest: Guest, cpus: frozenset[int], parts: list[Part]) -> Place:
    """A place. Memory that is not bound anew keeps its binding; a container's cpuset.mems follows its CPUs."""
    if all(part.memory_mib for part in parts):
        return Place(cpus, {part.node: part.memory_mib for part in parts}, True, tuple(parts))
    if guest.reserved is None or guest.kind == "vm":
        return Place(cpus, guest.reserved, guest.reserved is not None)
    return Place(cpus, {part.node: (guest.memory_mib or 0) // len(parts) for part in parts}, True)


def _core_counts(found: Assignment, parts: list[tuple[Guest, Part]]) -> list[int]:
    """The number of cores for each part: enough for its threads, or one per vCPU if so many are left."""
    top = found.room.top
    counts = [math.ceil(part.vcpus / top.threads) for _guest, part in parts]
    crowded = {part.node for _guest, shared in found.together for part in shared}
    for node, cores in found.room.cores.items():
        here = [place for place, (_guest, part) in enumerate(parts) if part.node == node]
        spare = len(cores) - sum(counts[place] for place in here) - max(
            1, len(top.nodes[node].cores) // _LEFT_TO_HOST)
        for place in here if node not in crowded else ():
            guest, part = parts[place]
            more = part.vcpus - counts[place]
            if guest.has_limit and more <= spare:
                counts[place] += more
                spare -= more
    return counts


def pick(free: list[Core], cores: int, vcpus: int, threads: int) -> list[Core] | None:
    """Take `cores` of the free ones, and more until each vCPU has a thread; None if there are not enough.

    The cores are of one kind if possible, the fastest first. Prefer the cache that is filled best, then the emptiest.
    """
    for kind in [*sorted({core.kind for core in free}), None]:
        candidates = [core for core in free if kind is None or core.kind == kind]
        if len(candidates) >= cores and sum(len(core.cpus) for core in candidates) >= vcpus:
            break
    else:
        return None
    chosen: list[Core] = []
    while len(chosen) < cores or sum(len(core.cpus) for core in chosen) < vcpus:
        lacking = vcpus - sum(len(core.cpus) for core in chosen)
        need = max(cores - len(chosen), math.ceil(lacking / threads))
        taken = _fullest(candidates, need)
        chosen += taken
        candidates = [core for core in candidates if core not in taken]
    free[:] = [core for core in free if core not in chosen]
    return chosen


def _fullest(cores: list[Core], need: int) -> list[Core]:
    groups: dict[tuple[int, int], list[Core]] = {}
    for core in cores:
        groups.setdefault((core.kind, -1 if core.cache is None else core.cache), []).append(core)
    enough = [key for key, group in groups.items() if len(group) >= need]
    best = (min(enough, key=lambda key: (key[0], len(groups[key]), key)) if enough
            else min(groups, key=lambda key: (key[0], -len(groups[key]), key)))
    return groups[best][:need]
