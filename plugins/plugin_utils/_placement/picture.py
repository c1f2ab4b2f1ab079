# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""placement.svg: sockets, nodes, caches, devices and guests of a host; the present placement and the proposed one."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .._render.svg import Drawing, Shape, rect, text
from .lanes import GPUS, LABEL, LANE_WIDTH, MEMORY, ROW, Lane, Row, lane_shapes, rows_of
from .situation import Situation, gpus_by_owner, situation
from .topology import Node

EDGE, _GAP, _DEVICE, _MOST_ROWS = 14, 12, 34, 24
_LEGEND = ("Bars: cores that a guest may use, half as high where it has one thread of them; pale where it may use any.",
           "GiB: its memory on this node. Red: on no node of its GPUs. Grey: cores, with a gap between L3 caches.")


class Device(NamedTuple):
    """A GPU or a network card: its name, its owner, the switch above it."""

    name: str
    owner: str
    switch: str | None


def placement_drawing(document: Mapping[str, Any], facts: Mapping[str, Any]) -> Drawing:
    """`document` is a placement.json, `facts` those it was made from."""
    there = situation(facts)
    lanes = [Lane("now", "today")]
    if any(guest["changed"] for guest in document["guests"]):
        lanes.append(Lane("proposed", "as proposed"))
    width = EDGE * 4 + LABEL + GPUS + len(lanes) * (LANE_WIDTH + MEMORY + _GAP)
    shapes: list[Shape] = []
    y = float(EDGE)
    for package, nodes in _packages(there):
        top = y
        if package is not None:
            shapes.append(text(EDGE * 2, y + 18, f"socket {package}", "heading"))
            y += 26
        for node in nodes:
            y = _node(node, there, document, facts, lanes, shapes, y, width)
        if package is not None:
            shapes.insert(0, rect(EDGE, top, width - 2 * EDGE, y - top, "frame"))
            y += _GAP
    for place, line in enumerate(_LEGEND):
        shapes.append(text(EDGE, y + 14 + 16 * place, line, "quiet"))
    return Drawing(f"Placement of guests on {document['host']}", _describe(document, there), width,
                   y + 14 + 16 * len(_LEGEND), shapes)


def _packages(there: Situation) -> list[tuple[int | None, list[Node]]]:
    found: dict[int | None, list[Node]] = {}
    for node in there.topology.nodes.values():
        found.setdefault(node.package, []).append(node)
    return list(found.items())


def _node(node: Node, there: Situation, document: Mapping[str, Any], facts: Mapping[str, Any], lanes: list[Lane],
          shapes: list[Shape], y: float, width: float) -> float:
    """Draw a node starting at `y`; return where it ends."""
    top, x = y, EDGE * 2
    cpus = sum(len(core.cpus) for core in node.cores)
    size = "" if node.memory_mib is None else f", {node.memory_mib >> 10} GiB"
    shapes.append(text(x + 8, y + 18, f"node{node.id}: {len(node.cores)} cores, {cpus} CPUs{size}", "heading"))
    y = _devices(_devices_of(node, there, document, facts), shapes, x + 8, y + 28, width - 2 * EDGE - 16)
    rows = rows_of(node, there, document)
    if rows:
        for place, lane in enumerate(lanes):
            shapes.append(text(_lane_x(place), y + 14, lane.words, "quiet"))
        y += 20
    for row in rows[:_MOST_ROWS]:
        shapes += _row(row, node, lanes, x + 8, y)
        y += ROW
    if len(rows) > _MOST_ROWS:
        shapes.append(text(x + 8, y + 13, f"and {len(rows) - _MOST_ROWS} more guests", "quiet"))
        y += ROW
    shapes.insert(0, rect(x, top + 2, width - 4 * EDGE, y + 6 - top, "frame"))
    return y + _GAP + 4


def _lane_x(place: int) -> float:
    return EDGE * 2 + 8 + LABEL + GPUS + place * (LANE_WIDTH + MEMORY + _GAP)


def _row(row: Row, node: Node, lanes: list[Lane], x: float, y: float) -> list[Shape]:
    shapes = [text(x, y + 12, row.label, "label"), text(x + LABEL, y + 12, row.gpus, "quiet")]
    for place, lane in enumerate(lanes):
        at = _lane_x(place)
        shapes += lane_shapes(row.places[lane.which], node, at, y)
        there = row.places[lane.which]
        look = "label bad" if there.far else "label"
        shapes.append(text(at + LANE_WIDTH + MEMORY - 6, y + 12, there.memory, look, "end"))
    return shapes


# -- devices ----------------------------------------------------------------------------------------------------------

def _devices_of(node: Node, there: Situation, document: Mapping[str, Any], facts: Mapping[str, Any]) -> list[Device]:
    """GPUs with their owners, grouped by switch, then network cards."""
    owners: dict[str, list[str]] = {}
    for guest in document["guests"]:
        for gpu in guest["gpus"]:
            owners.setdefault(gpu["bdf"], []).append(guest["subject"])
    for subject in document["left_out"]:
        for bdf, _node in gpus_by_owner(facts).get(subject, ()):
            owners.setdefault(bdf, []).append(subject)
    found = []
    for gpu in facts["gpus"]:
        at = gpu["numa_node"]["value"] if gpu["numa_node"]["status"] == "ok" else None
        if at is not None and at >= 0 and there.topology.near(at) == node.id:
            switch = gpu["path"][1] if len(gpu["path"]) > 2 else None
            given = owners.get(gpu["bdf"], [])
            found.append(Device(gpu["bdf"], given[0] + (", ..." if given[1:] else "") if given else "no guest", switch))
    found.sort(key=lambda device: (device.switch or "", device.name))
    return found + [Device(card["name"], "network", None) for card in facts["network"]["interfaces"]
                    if card["numa_node"]["status"] == "ok" and card["numa_node"]["value"] == node.id]


def _devices(devices: list[Device], shapes: list[Shape], x: float, y: float, width: float) -> float:
    """Boxes from left to right on as many lines as needed; those behind one switch have a frame."""
    groups: dict[tuple[str, str], list[Device]] = {}
    for device in devices:
        groups.setdefault((device.switch or "", "" if device.switch else device.name), []).append(device)
    left, line_height = x, _DEVICE + 20
    for (switch, _alone), members in groups.items():
        need = sum(_width(device) + 6 for device in members) + 6
        if left > x and left + need > x + width:
            left, y = x, y + line_height
        if switch:
            shapes.append(rect(left, y, max(need, 7 * len(switch) + 60), _DEVICE + 16, "frame"))
            shapes.append(text(left + 6, y + 11, f"switch {switch}", "quiet"))
        at = left + 6
        for device in members:
            shapes += [rect(at, y + 15, _width(device), _DEVICE - 4, "heat2"),
                       text(at + 5, y + 27, _cut(device.name, 24), "label"),
                       text(at + 5, y + 40, _cut(device.owner, 13), "quiet")]
            at += _width(device) + 6
        left = max(at, left + (7 * len(switch) + 60 if switch else 0)) + 8
    return y + line_height if devices else y


def _width(device: Device) -> float:
    return max(92.0, 7.0 * min(24, len(device.name)) + 10)


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else words[:most - 1] + "…"


def _describe(document: Mapping[str, Any], there: Situation) -> str:
    changed = [guest["subject"] for guest in document["guests"] if guest["changed"]]
    named = ", ".join(changed[:12]) + (" and others" if changed[12:] else "")
    message = f"another placement is proposed for {named}" if changed else "no other placement is better"
    return (f"{len(document['guests'])} guests on {len(there.topology.nodes)} NUMA nodes; {message}. "
            "The table beside it has every list of CPUs.")
