# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Propose a placement for all guests of a host together: never worse than the present one."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

from .assign import assign, could_hold, homes
from .cores import places
from .measure import Measure, measure, own
from .place import Guest, Place
from .room import memory_at
from .situation import Situation

Places = Mapping[str, Place]


class Proposal(NamedTuple):
    """`places` by subject; a guest without a change has its present place there."""

    places: Places
    now: Measure
    proposed: Measure

    def changes(self, guest: Guest) -> bool:
        return self.places[guest.subject] != guest.now


def propose(there: Situation) -> Proposal:
    """The best of a few plans by the measure; among equal ones, the one that changes fewest guests."""
    present = best = {guest.subject: guest.now for guest in there.guests}
    now = least = _measure(there, present)
    for plan in _plans(there):
        if plan == best:
            continue
        figures = _measure(there, plan)
        if figures.rank < least.rank and not _overfills(there, plan, best):
            best, least = plan, figures
    best = _without_needless(there, best, least)
    return Proposal(best, now, now if best == present else _measure(there, best))


def _measure(there: Situation, plan: Places) -> Measure:
    return measure(there.topology, ((guest, plan[guest.subject]) for guest in there.guests))


def _plans(there: Situation) -> Iterator[Places]:
    """Plans for all guests, or those with GPUs, with each option of assign(); GPU guests anywhere at their nodes."""
    free = [guest for guest in there.guests if guest.left_alone is None and guest.vcpus]
    with_gpus = [guest for guest in free if homes(guest, there.topology)]
    # `anew` concerns guests without GPUs alone.
    options = list(product([with_gpus], [False], (False, True)))
    if len(free) > len(with_gpus):
        options = [*product([free], (False, True), (False, True)), *options]
    for movable, anew, near in options:
        found = places(assign(there, {guest.subject for guest in movable}, anew, near))
        if found is not None:
            yield found
    yield {**{guest.subject: guest.now for guest in there.guests}, **_at_their_nodes(there, with_gpus)}


def _at_their_nodes(there: Situation, guests: Iterable[Guest]) -> dict[str, Place]:
    found = {}
    for guest in guests:
        at = homes(guest, there.topology)
        cpus = frozenset(cpu for node in at for core in there.topology.nodes[node].cores for cpu in core.cpus)
        if cpus & there.usable and could_hold(guest, at, there.topology):
            found[guest.subject] = guest.now._replace(cpus=cpus & there.usable, memory=guest.reserved)
    return found


def _overfills(there: Situation, plan: Places, before: Places) -> bool:
    """Whether a node would need more memory than it has: for memory bound anew at all, otherwise more than now."""
    asked, asked_before = _memory(there, plan), _memory(there, before)
    anew = {part.node for place in plan.values() for part in place.parts}
    return any(asked.get(node.id, 0) > max(node.capacity_mib, 0 if node.id in anew else asked_before.get(node.id, 0))
               for node in there.topology.nodes.values())


def _memory(there: Situation, plan: Places) -> dict[int, int]:
    found: dict[int, int] = {}
    for guest in there.guests:
        for node, size in memory_at(guest, plan[guest.subject]).items():
            found[node] = found.get(node, 0) + size
    return found


def _without_needless(there: Situation, plan: Places, figures: Measure) -> Places:
    """The plan without changes that gain nothing, as each of them costs a restart."""
    for guest in there.guests:
        place = plan[guest.subject]
        if place == guest.now or (not figures.shared_vcpus and _is_nearer(there, guest, place)):
            continue
        other = {**plan, guest.subject: guest.now}
        if _measure(there, other).rank <= figures.rank and not _overfills(there, other, plan):
            plan, figures = other, _measure(there, other)
    return plan


def _is_nearer(there: Situation, guest: Guest, place: Place) -> bool:
    return own(there.topology, guest, place) < own(there.topology, guest, guest.now)
