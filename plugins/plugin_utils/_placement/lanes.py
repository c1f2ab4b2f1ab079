# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The rows of placement.svg: for each guest and node, the cores that it may use there, and its memory."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ...module_utils._kernel.cpulist import parse_cpulist
from .._render.svg import Shape, rect
from .assign import homes
from .place import Guest
from .situation import Situation
from .topology import Core, Node

LABEL, GPUS, LANE_WIDTH, MEMORY, ROW = 124, 58, 340, 84, 18
_CACHE_GAP, _BAR = 3.0, 10.0


class Lane(NamedTuple):
    """`now` or `proposed`, and the heading above it."""

    which: str
    words: str


class There(NamedTuple):
    """A guest at one node: its CPUs (empty: none), whether it may use any CPU of the host, whether the node is far
    from all its GPUs, its memory in words."""

    cpus: frozenset[int]
    anywhere: bool
    far: bool
    memory: str


class Row(NamedTuple):
    """One guest at one node, by lane."""

    label: str
    gpus: str
    places: Mapping[str, There]


def rows_of(node: Node, there: Situation, document: Mapping[str, Any]) -> list[Row]:
    """The guests with CPUs, memory or GPUs at a node, now or as proposed; those that are never bound come last."""
    known = {guest.subject: guest for guest in there.guests}
    own = frozenset(cpu for core in node.cores for cpu in core.cpus)
    texts = {entry[which]["cpus"] for entry in document["guests"] for which in ("now", "proposed")}
    lists = {text: there.topology.all_cpus if text is None else frozenset(parse_cpulist(text)) for text in texts}
    found = []
    for entry in document["guests"]:
        guest = known.get(entry["subject"])
        at = homes(guest, there.topology) if guest else {}
        places = {}
        for which in ("now", "proposed"):
            cpus = lists[entry[which]["cpus"]]
            places[which] = There(cpus & own, cpus >= there.topology.all_cpus, bool(at) and node.id not in at,
                                  _memory(entry, which, guest).get(node.id, ""))
        gpus = sum(gpu["node"] is not None and there.topology.near(gpu["node"]) == node.id for gpu in entry["gpus"])
        if gpus or any(place.cpus or place.memory for place in places.values()):
            found.append(Row(_cut(entry["subject"]), f"{gpus} GPU{'s' if gpus > 1 else ''}" if gpus else "", places))
    return sorted(found, key=lambda row: all(place.anywhere for place in row.places.values()))


def _memory(entry: Mapping[str, Any], which: str, guest: Guest | None) -> dict[int, str]:
    """Memory in words by node: the amount in GiB if known, otherwise that there is some."""
    parts = [re.fullmatch(r"cpus=.*,hostnodes=(\d+),memory=(\d+),policy=\w+", words)
             for words in entry[which]["virtual_nodes"]]
    if any(parts):
        return {int(part[1]): _gib(int(part[2])) for part in parts if part}
    if (which == "now" or not entry["changed"]) and guest is not None and guest.now.memory:
        return {node: _gib(size) for node, size in guest.now.memory.items() if size}
    return dict.fromkeys(parse_cpulist(entry[which]["memory_nodes"] or ""), "memory")


def _gib(mib: int) -> str:
    return f"{mib / 1024:.0f} GiB" if mib >= 1024 else f"{mib} MiB"


def _cut(words: str) -> str:
    """A name, truncated to the available width."""
    return words if len(words) <= 18 else words[:17] + "…"


def lane_shapes(place: There, node: Node, x: float, y: float) -> Iterator[Shape]:
    """Grey boxes for the L3 caches, and over them the cores that a guest may use."""
    cell, starts = _scale(node.cores)
    for cores in _runs(node.cores, lambda core: core.cache):
        first, last = cores[0], cores[-1]
        yield rect(x + starts[first], y + 3, starts[last] + cell - starts[first], _BAR, "none")
    look = "heat3" if place.anywhere else "mark-bad" if place.far else "mark"
    having = [(number, core) for number, core in enumerate(node.cores) if place.cpus.intersection(core.cpus)]
    for run in _runs([core for _number, core in having], lambda core: (core.cache, place.cpus >= set(core.cpus)),
                     [number for number, _core in having]):
        whole = place.cpus >= set(node.cores[run[0]].cpus)
        height = _BAR if whole else _BAR / 2
        yield rect(x + starts[run[0]], y + 3 + _BAR - height, starts[run[-1]] + cell - starts[run[0]], height, look)


def _scale(cores: tuple[Core, ...]) -> tuple[float, list[float]]:
    """The width of a core and the position of each, with a gap between caches."""
    gaps = sum(one.cache != other.cache for one, other in zip(cores, cores[1:]))
    gap = min(_CACHE_GAP, LANE_WIDTH / 4 / max(1, gaps))
    cell = (LANE_WIDTH - gaps * gap) / len(cores)
    starts, at = [], 0.0
    for place, core in enumerate(cores):
        at += gap if place and core.cache != cores[place - 1].cache else 0.0
        starts.append(at)
        at += cell
    return cell, starts


def _runs(cores: Iterable[Core], kind: Any, numbers: list[int] | None = None) -> Iterator[list[int]]:
    """Consecutive numbers of cores of one kind."""
    run: list[int] = []
    before: Any = None
    for place, core in enumerate(cores):
        number = place if numbers is None else numbers[place]
        if run and (number != run[-1] + 1 or kind(core) != before):
            yield run
            run = []
        run.append(number)
        before = kind(core)
    if run:
        yield run
