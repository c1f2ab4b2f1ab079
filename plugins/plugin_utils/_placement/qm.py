# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The options of `qm set` that place a VM, and those that undo it (man qm; sources in docs/placement.md)."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .place import Guest, Part, Place, VirtualNode


class Options(NamedTuple):
    """The options to set, by name without dashes, and the options to delete."""

    set: Mapping[str, str]
    delete: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        return [*self.set, *self.delete]

    def words(self, number: str) -> list[str]:
        """The command as a list of arguments."""
        found = ["qm", "set", number]
        for name, text in self.set.items():
            found += [f"--{name}", text]
        return found + (["--delete", ",".join(self.delete)] if self.delete else [])


def options(guest: Guest, place: Place) -> Options:
    """The options that apply a place to a VM; empty if they are set already."""
    configured = guest.configured
    wanted = {} if place.cpus is None else {"affinity": place.cpu_list or ""}
    delete: list[str] = []
    if place.parts:
        wanted["numa"] = "1"
        wanted.update({f"numa{number}": text for number, text in enumerate(virtual_nodes(place.parts))})
        delete = [node.key for node in configured.virtual_nodes if node.key not in wanted]
    now = current(guest)
    return Options({name: text for name, text in wanted.items() if now.get(name) != text}, tuple(delete))


def guarded(guest: Guest, changed: Options) -> dict[str, dict[str, str | None]]:
    """The same in the form of guest_placement: `{set, only_from}`, None for an option that is not set."""
    now = current(guest)
    return {"set": {name: changed.set.get(name) for name in changed.names},
            "only_from": {name: now.get(name) for name in changed.names}}


def undo(guest: Guest, changed: Options) -> Options:
    """The options that restore the present configuration."""
    now = current(guest)
    names = [name for name in changed.names if name in now]
    return Options({name: now[name] for name in names}, tuple(name for name in changed.names if name not in now))


def current(guest: Guest) -> dict[str, str]:
    """The options of a VM that are set now, as qm spells them. `numa: 0` counts as not set."""
    configured = guest.configured
    found = {} if configured.cpus is None else {"affinity": configured.cpus}
    if configured.numa:
        found["numa"] = "1"
    return found | {node.key: _written(node) for node in configured.virtual_nodes}


def virtual_nodes(parts: Iterable[Part]) -> list[str]:
    """`cpus=0-15,hostnodes=0,memory=65536,policy=bind` for each part; the parts cover all vCPUs in order."""
    found, first = [], 0
    for part in parts:
        last = first + part.vcpus - 1
        cpus = str(first) if first == last else f"{first}-{last}"
        found.append(f"cpus={cpus},hostnodes={part.node},memory={part.memory_mib},policy=bind")
        first = last + 1
    return found


def _written(node: VirtualNode) -> str:
    parts = [("cpus", node.cpus and node.cpus.replace(",", ";")),
             ("hostnodes", node.host_nodes and node.host_nodes.replace(",", ";")),
             ("memory", node.memory_mib), ("policy", node.policy)]
    return ",".join(f"{name}={text}" for name, text in parts if text is not None)
