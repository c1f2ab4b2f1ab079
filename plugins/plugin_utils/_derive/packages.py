# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Which processor package a NUMA node belongs to: NPS, SNC and L3 as NUMA make several nodes of one socket.

The package of a node is that of its CPUs (Documentation/ABI/stable/sysfs-devices-system-cpu, physical_package_id).
Where nothing tells it, distances do (Documentation/ABI/stable/sysfs-devices-node, distance): nodes of one socket are
nearer to each other than those of two. A node of memory only belongs to the node with CPUs that is nearest.
"""
from __future__ import annotations

from typing import Any, NamedTuple


class Places(NamedTuple):
    """The nodes of a host by their number, and how many sockets its CPUs are in; None if not known."""

    nodes: dict[int, dict[str, Any]]
    sockets: int | None


def places(facts: dict[str, Any]) -> Places:
    return Places({node["id"]: node for node in facts["numa"]["nodes"]}, facts["cpu"]["sockets"])


def same_package(one: int, other: int, known: Places) -> bool | None:
    """Whether two nodes are on one package; None where neither packages nor distances tell."""
    one, other = (_with_cpus(node, known.nodes) for node in (one, other))
    if one == other or known.sockets == 1:
        return True
    packages = [known.nodes[node].get("package") for node in (one, other) if node in known.nodes]
    if len(packages) == 2 and None not in packages:
        return packages[0] == packages[1]
    return _by_distance(one, other, known)


def _with_cpus(node: int, nodes: dict[int, dict[str, Any]]) -> int:
    """The node itself, or for one of memory only the nearest that has CPUs."""
    here = nodes.get(node)
    if here is None or here["cpus"]:
        return node
    away = {number: distance for number in nodes if nodes[number]["cpus"]
            and (distance := _distance(node, number, nodes)) is not None}
    return min(away, key=away.get) if away else node


def _by_distance(one: int, other: int, known: Places) -> bool | None:
    with_cpus = [number for number, node in known.nodes.items() if node["cpus"]]
    if known.sockets is not None and len(with_cpus) <= known.sockets:
        return False                        # a socket or more for every node
    between = _distance(one, other, known.nodes)
    away = {_distance(first, second, known.nodes) for first in with_cpus for second in with_cpus if first != second}
    if between is None or None in away or len(away) < 2:
        return None
    return between < max(away)


def _distance(one: int, other: int, nodes: dict[int, dict[str, Any]]) -> int | None:
    """The kernel prints a column for each node that is online, in the order of their numbers."""
    row = nodes[one]["distances"] if one in nodes else []
    order = sorted(nodes)
    return row[order.index(other)] if other in nodes and len(row) == len(order) else None
