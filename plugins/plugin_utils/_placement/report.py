# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The section "Placement" of a host's report: present and proposed places of guests, and the commands."""
from __future__ import annotations

import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from .._records import host_folder
from .._render.section import Block, Section, Table
from .._render.text import binary_size, count
from .document import FILE, SCHEMA
from .picture import placement_drawing

HEADING, PICTURE = "Placement", "placement.svg"
_MIB = 1 << 20
_FIGURES = (
    ("shared_vcpus", "vCPUs that share a core while others are free", ""),
    ("gpu_distance", "mean NUMA distance of CPUs and GPUs", "10: the same node"),
    ("memory_distance", "mean NUMA distance of CPUs and memory", "10: the same node"),
    ("nodes_spanned", "NUMA nodes over which guests lie, added up", ""),
    ("caches_spanned", "L3 caches over which guests lie, added up", ""),
)
_SHORT = {"shared_vcpus": "vCPUs that share cores", "gpu_distance": "distance to GPUs",
          "memory_distance": "distance to memory", "nodes_spanned": "nodes", "caches_spanned": "L3 caches"}
_GUEST_HEAD = ["guest", "name", "CPUs", "GPUs at", "runs on", "memory at", "proposed CPUs", "proposed memory", "note"]


def read(folder: pathlib.Path, facts: Mapping[str, Any]) -> Section | None:
    """The section for placement.json in a host's folder; None if there are no guests."""
    document = host_folder.read_document(folder / FILE, SCHEMA)
    return section(document, facts) if document and (document["guests"] or document["lacking"]) else None


def section(document: Mapping[str, Any], facts: Mapping[str, Any]) -> Section:
    guests = document["guests"]
    if not guests:
        return Section(HEADING, [f"No placement can be proposed: {document['lacking']}."], [], {})
    changed = [guest for guest in guests if guest["changed"]]
    tables = [Table("Guests", _GUEST_HEAD, [_row(guest) for guest in guests])]
    if changed:
        tables.insert(0, _measure_table(document["measure"]))
    return Section(HEADING, _notes(document, changed), tables, {PICTURE: placement_drawing(document, facts)},
                   tuple(_blocks(changed)))


def summary(document: Mapping[str, Any]) -> str | None:
    """One line about the proposal for a terminal; None if nothing changes."""
    changed = sum(guest["changed"] for guest in document["guests"])
    if not changed:
        return None
    now, proposed = document["measure"]["now"], document["measure"]["proposed"]
    better = [f"{words} {_number(now[name])} -> {_number(proposed[name])}" for name, words in _SHORT.items()
              if now[name] != proposed[name]]
    return (f"Placement: a better one for {changed} of {count(len(document['guests']), 'guest')} is in the report "
            f"({', '.join(better)})")


def _notes(document: Mapping[str, Any], changed: list[Mapping[str, Any]]) -> list[str]:
    left_out = [f"Not counted, as they neither run nor start with the host: {', '.join(document['left_out'])}."
                ] if document["left_out"] else []
    if not changed:
        return ["No other placement of these guests is better by the measure.", *left_out]
    costs = document["costs"]
    free = ", ".join(f"{node} {number}" for node, number in costs["free_cores"].items())
    of = count(len(document["guests"]), "guest")
    notes = [f"Another placement is better for {len(changed)} of {of}. The commands start, stop and migrate none."]
    if costs["memory_mib"]:
        notes.append(f"Memory that gets its new place when its guest is started anew: "
                     f"{binary_size(costs['memory_mib'] * _MIB)}.")
    if any(guest["subject"].startswith("vm:") for guest in changed):
        notes.append("A VM takes its new placement when it is shut down and started. A reboot from within is no start.")
    at_once = document.get("values", {}).get("guest_affinity", {})
    if at_once:
        notes.append(f"{', '.join(at_once)} can be moved at once, until stopped, as their memory is there: tune "
                     f"with gpuhost_values set to the {FILE} of this folder, and gpuhost_include=guest_affinity.")
    if any(guest["edit"] for guest in changed):
        notes.append("Lines for /etc/pve/lxc/ID.conf go above its first line in brackets, where snapshots begin, and "
                     "replace a line with the same key. pct set cannot write them.")
    return [*notes, *left_out, f"Cores that no guest is bound to then: {free}."]


def _measure_table(measure: Mapping[str, Any]) -> Table:
    now, proposed = measure["now"], measure["proposed"]
    rows = [[words, _number(now[name]), _number(proposed[name]), best] for name, words, best in _FIGURES
            if now[name] is not None]
    return Table("How good it is: less is better, the first figure that differs decides",
                 ["figure", "now", "proposed", "best"], rows)


def _row(guest: Mapping[str, Any]) -> list[str]:
    now, proposed, changed = guest["now"], guest["proposed"], guest["changed"]
    return [guest["subject"], guest["name"] or "-", str(guest["vcpus"]), _gpu_nodes(guest["gpus"]),
            now["cpus"] or "any CPU", _nodes(now["memory_nodes"]),
            (proposed["cpus"] or "any CPU") if changed else "as it is",
            _nodes(proposed["memory_nodes"]) if changed else "as it is",
            guest["left_alone"] or guest["when"] or ""]


def _gpu_nodes(gpus: Iterable[Mapping[str, Any]]) -> str:
    """`node0 (2), node1`."""
    counts: dict[str, int] = {}
    for gpu in gpus:
        name = "an unknown node" if gpu["node"] is None else f"node{gpu['node']}"
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(name if number == 1 else f"{name} ({number})" for name, number in sorted(counts.items())) or "-"


def _nodes(nodes: str | None) -> str:
    return "not bound" if nodes is None else f"node {nodes}"


def _number(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:g}"


def _blocks(changed: Iterable[Mapping[str, Any]]) -> Iterable[Block]:
    """All commands in one block, and one block per file, so that each can be pasted at once."""
    commands = [guest for guest in changed if guest["commands"] and guest["edit"] is None]
    if commands:
        yield Block("Do", "sh", [line for guest in commands for line in guest["commands"]])
        yield Block("Undo", "sh", [line for guest in commands for line in guest["undo"]])
    for guest in (guest for guest in changed if guest["commands"] and guest["edit"] is not None):
        yield Block(f"In {guest['edit']}", "text", guest["commands"])
        yield Block("Undo there", "text", guest["undo"])
