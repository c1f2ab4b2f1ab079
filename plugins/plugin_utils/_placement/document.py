# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""placement.json: the present and the proposed place of each guest of a host, the commands, and their cost."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._derive.not_recorded import Gap, recorded, with_gaps, without_gaps
from . import qm
from .at_once import moves_at_once
from .commands import Commands, commands, memory_nodes
from .measure import as_json
from .place import Guest, Place
from .propose import Proposal, propose
from .situation import Situation, situation

SCHEMA = "gpuhost.placement/1"
FILE = "placement.json"
_NO_RECORD = "no record of guests, GPU processes, or the CPUs and memory that they use"


def placement(host: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Make placement.json from an audit document; schemas/placement.json explains the keys.

    If it depends on facts that a recording does not have, nothing is proposed, and `lacking` says why.
    """
    found = recorded(lambda: without_gaps(_placement(host, {**document, "facts": with_gaps(document["facts"])})))
    if not isinstance(found, Gap):
        return found
    return {"schema": SCHEMA, "host": host, "collected_at": document["collected_at"], "guests": [],
            "measure": {"now": None, "proposed": None}, "costs": {"memory_mib": 0, "free_cores": {}},
            "left_out": [], "lacking": f"{_NO_RECORD} ({found.why})", "values": {}}


def _placement(host: str, document: Mapping[str, Any]) -> dict[str, Any]:
    there = situation(document["facts"])
    proposal = propose(there)
    guests = [_entry(guest, there, proposal) for guest in there.guests]
    values = {guest.subject: proposal.places[guest.subject].cpu_list for guest in there.guests
              if proposal.changes(guest) and moves_at_once(guest, proposal.places[guest.subject], there.topology)}
    return {
        "schema": SCHEMA, "host": host, "collected_at": document["collected_at"], "guests": guests,
        "measure": {"now": as_json(proposal.now), "proposed": as_json(proposal.proposed)} if guests else {
            "now": None, "proposed": None},
        "costs": {"memory_mib": sum(guest.memory_mib or 0 for guest in there.guests
                                    if guest.running and guest.kind != "process" and proposal.changes(guest)),
                  "free_cores": _free_cores(there, proposal)},
        "left_out": list(there.left_out), "lacking": there.lacking,
        "values": {"guest_affinity": values} if values else {},
    }


def _entry(guest: Guest, there: Situation, proposal: Proposal) -> dict[str, Any]:
    place = proposal.places[guest.subject]
    changed = proposal.changes(guest)
    options = qm.options(guest, place) if changed and guest.kind == "vm" else None
    lines = commands(guest, place, there.old_cgroups) if changed else Commands([], [], "")
    return {
        "subject": guest.subject, "name": guest.name, "running": guest.running, "vcpus": guest.vcpus,
        "memory_mib": guest.memory_mib, "gpus": [{"bdf": bdf, "node": node} for bdf, node in guest.gpus],
        "now": {"cpus": guest.now.cpu_list, "memory_nodes": guest.now.memory_list, "virtual_nodes": []},
        "proposed": _place(place), "changed": changed,
        "commands": lines.commands, "undo": lines.undo, "edit": lines.edit, "when": lines.when or None,
        "options": qm.guarded(guest, options) if options and options.names else None, "left_alone": guest.left_alone,
    }


def _place(place: Place) -> dict[str, Any]:
    return {"cpus": place.cpu_list, "memory_nodes": memory_nodes(place), "virtual_nodes": qm.virtual_nodes(place.parts)}


def _free_cores(there: Situation, proposal: Proposal) -> dict[str, int]:
    """The cores of each node that no guest is bound to; guests without a binding may use them all."""
    top = there.topology
    taken = {top.core_of[cpu] for place in proposal.places.values() if place.cpus is not None
             and not place.cpus >= top.all_cpus for cpu in place.cpus & top.all_cpus}
    free = dict.fromkeys((f"node{node}" for node in top.nodes), 0)
    for number, core in enumerate(top.cores):
        free[f"node{core.node}"] += number not in taken
    return free
