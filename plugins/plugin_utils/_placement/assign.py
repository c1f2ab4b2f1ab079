# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Assign nodes to guests: well-placed guests stay, then guests with GPUs choose in turn, then the others."""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from .place import Guest, Part
from .room import Room, wanted_memory
from .situation import Situation
from .topology import Topology


class Assignment(NamedTuple):
    """`staying` keep their place. `own`: guests with dedicated cores, in the order in which they choose. `together`:
    guests for which there was no room, with the nodes whose remaining cores they share."""

    room: Room
    staying: list[Guest]
    own: list[tuple[Guest, list[Part]]]
    together: list[tuple[Guest, list[Part]]]


def assign(there: Situation, movable: Collection[str], anew: bool = False, near: bool = False) -> Assignment:
    """`movable`: subjects of the guests that may be placed. `anew`: well-placed guests without GPUs do not stay, so
    that they leave the nodes of the GPUs to guests that need them. `near`: a guest that finds no room at its GPUs
    shares their nodes instead of being spread over others."""
    room = Room(there)
    guests = sorted(there.guests, key=_urgency)
    staying = [guest for guest in guests if guest.subject not in movable]
    for guest in staying:
        room.occupy(guest, guest.now)
    found = Assignment(room, staying, [], [])
    for guest in (guest for guest in guests if guest.subject in movable):
        if (guest.gpus or not anew) and is_right(guest, there) and not room.overlaps(guest.now):
            room.occupy(guest, guest.now)
            staying.append(guest)
    for guest in (guest for guest in guests if guest not in staying):
        parts = _parts(guest, room, near)
        if parts is None:
            parts = _shared_parts(guest, room)
            room.share(parts)
            found.together.append((guest, parts))
        else:
            room.promise(parts)
            found.own.append((guest, parts))
    return found


def _urgency(guest: Guest) -> tuple:
    """Sort key: guests with GPUs choose first, then those that need most."""
    return not guest.gpus, -len(guest.gpus), -guest.vcpus, -(guest.memory_mib or 0), guest.order


def homes(guest: Guest, top: Topology) -> dict[int, int]:
    """The nodes with CPUs nearest to its GPUs, those with most GPUs first: `{node: GPUs}`."""
    if not guest.gpus:
        return {}
    counts = Counter(top.near(node) for _bdf, node in guest.gpus if node is not None)
    return {node: counts[node] for node in sorted(counts, key=lambda node: (-counts[node], node))}


def could_hold(guest: Guest, nodes: Iterable[int], top: Topology) -> bool:
    """Whether nodes would have enough memory for a guest if empty: otherwise its memory is elsewhere, bound or not."""
    return sum(top.nodes[node].capacity_mib for node in nodes) >= wanted_memory(guest, top)


def is_right(guest: Guest, there: Situation) -> bool:
    """Whether a guest has enough CPUs near all its GPUs, or at one node, and its memory there as well."""
    top, now = there.topology, guest.now
    if now.cpus is None or not now.cpus <= top.all_cpus or len(now.cpus) < guest.vcpus:
        return False
    at, wanted = set(top.shares(now.cpus)), set(homes(guest, top))
    return (at == wanted if wanted else len(at) == 1) and set(now.memory or at) <= at


def _parts(guest: Guest, room: Room, stay_near: bool) -> list[Part] | None:
    top, near = room.top, homes(guest, room.top)
    if len(near) > 1:
        weights = {node: count / sum(near.values()) for node, count in near.items()}
        parts = room.split(guest, near, weights)
        if parts:
            return parts
    by_distance = _nodes(guest, room, near)
    packages = {top.nodes[node].package for node in near}
    # A node of the same socket is nearer than two nodes; for a guest without GPUs any node is.
    for node in by_distance:
        beside = not near or node in near or (top.nodes[node].package in packages and None not in packages)
        parts = room.whole(guest, node) if beside else None
        if parts:
            return parts
    for node in near:
        parts = room.cpus_only(guest, node) if len(near) == 1 else None
        if parts:
            return parts
    return None if stay_near and near and could_hold(guest, near, top) else room.split(guest, by_distance)


def _nodes(guest: Guest, room: Room, near: dict[int, int]) -> list[int]:
    """All nodes in a guest's order of preference."""
    top = room.top
    has_now = set() if guest.now.cpus is None else set(top.shares(guest.now.cpus))
    if near:
        return sorted(top.nodes, key=lambda node: (
            sum(top.distance(node, home) * count for home, count in near.items()), -room.threads(node), node))
    return sorted(top.nodes, key=lambda node: (has_now != {node}, -room.threads(node), node))


def _shared_parts(guest: Guest, room: Room) -> list[Part]:
    """Where a guest shares CPUs: at its GPUs, otherwise where the demand for the remaining cores is lowest."""
    near = homes(guest, room.top)
    if not near:
        near = {min(room.top.nodes, key=lambda node: (room.shared[node] - room.threads(node), node)): 1}
    node, memory = next(iter(near)), wanted_memory(guest, room.top)
    if len(near) == 1 and memory and room.memory[node] >= memory:
        return [Part(node, guest.vcpus, memory)]
    return [Part(node, guest.vcpus // len(near), 0) for node in near]
