# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Running guests whose proposed CPUs the kind `guest_affinity` can set at once: their memory is there already."""
from __future__ import annotations

from ...module_utils._tunables.guest_affinity import CONTAINER, VM, is_at_memory
from .place import Guest, Place
from .topology import Topology


def moves_at_once(guest: Guest, place: Place, top: Topology) -> bool:
    """Whether the setter would accept the proposed CPUs, as far as the facts tell.

    pvestatd sets those of a container without a list in its configuration.
    """
    if not guest.running or guest.kind not in (VM, CONTAINER) or place.cpus is None or not guest.now.memory:
        return False
    if place.cpus == guest.now.cpus or (guest.kind == CONTAINER and guest.configured.cpus is None):
        return False
    return is_at_memory(guest.now.memory, top.shares(place.cpus))
