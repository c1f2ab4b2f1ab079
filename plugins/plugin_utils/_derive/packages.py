# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The processor package of a NUMA node: NPS, SNC and L3 as NUMA split one socket into several nodes.

The package of a node is that of its CPUs (Documentation/ABI/stable/sysfs-devices-system-cpu, physical_package_id).
If that is missing, distances decide (Documentation/ABI/stable/sysfs-devices-node, distance): nodes of one socket are
nearer to each other than nodes of two. A memory-only node belongs to the nearest node with CPUs.
"""
from __future__ import annotations

from typing import Any, NamedTuple


class Places(NamedTuple):
    """The nodes of a host by number, and the number of its sockets; None if not known."""

    nodes: dict[int, dict[str, Any]]
    sockets: int | None


def places(facts: dict[str, Any]) -> Places:
    return Places({node["id"]: node for node in facts["numa"]["nodes"]}, facts["cpu"]["sockets"])


def same_package(one: int, other: int, known: Places) -> bool | None:
    """Whether two nodes are on one package; None if neither packages nor distances tell."""
    one, other = (_with_cpus(node, known.nodes) for node in (one, other))
    if one == other or known.sockets == 1:
        return True
    packages = [known.nodes[node].get("package") for node in (one, other) if node in known.nodes]
    if len(packages) == 2 and None not in packages:
        return packages[0] == packages[1]
    return _by_distance(one, other, known)


def _with_cpus(node: int, nodes: dict[int, dict[str, Any]]) -> int:
    """The node itself, or for a memory-only node the nearest one with CPUs."""
    here = nodes.get(node)
    if here is None or here["cpus"]:
        return node
    away = {number: distance for number in nodes if nodes[number]["cpus"]
            and (distance := _distance(node, number, nodes)) is not None}
    return min(away, key=away.get) if away else node


def _by_distance(one: int, other: int, known: Places) -> bool | None:
    with_cpus = [number for number, node in known.nodes.items() if node["cpus"]]
    if known.sockets is not None and len(with_cpus) <= known.sockets:
        return False                        # there is at least one socket per node
    between = _distance(one, other, known.nodes)
    away = {_distance(first, second, known.nodes) for first in with_cpus for second in with_cpus if first != second}
    if between is None or None in away or len(away) < 2:
        return None
    return between < max(away)


def _distance(one: int, other: int, nodes: dict[int, dict[str, Any]]) -> int | None:
    """The distance between two nodes. The kernel prints one column per online node, in the order of their numbers."""
    row = nodes[one]["distances"] if one in nodes else []
    order = sorted(nodes)
    return row[order.index(other)] if other in nodes and len(row) == len(order) else None
