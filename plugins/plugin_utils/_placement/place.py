# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The types of a placement: the CPUs of a guest, and the nodes of its memory."""
from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...module_utils._kernel.cpulist import format_cpulist


class Part(NamedTuple):
    """A guest's share of one node: the number of its virtual CPUs, and the amount of its memory."""

    node: int
    vcpus: int
    memory_mib: int


class Place(NamedTuple):
    """`cpus` is None if a guest may run on any. `memory` is by node in MiB, present or future; None if it is allocated
    where the CPUs are that touch it first. `bound`: the configuration binds it. `parts` is the proposal, one virtual
    node each for a VM; empty for the present place."""

    cpus: frozenset[int] | None
    memory: Mapping[int, int] | None = None
    bound: bool = False
    parts: tuple[Part, ...] = ()

    @property
    def cpu_list(self) -> str | None:
        return None if self.cpus is None else format_cpulist(self.cpus)

    @property
    def memory_list(self) -> str | None:
        """The nodes that hold memory, as a list; None if unknown."""
        holding = [node for node, size in (self.memory or {}).items() if size]
        return format_cpulist(holding) or None


class VirtualNode(NamedTuple):
    """A configured `numaN` of a VM; lists in the kernel's format."""

    key: str
    cpus: str | None
    host_nodes: str | None
    memory_mib: int | None
    policy: str | None


class Configured(NamedTuple):
    """The placement in a guest's configuration: lists in the kernel's format, None for options that are not set."""

    cpus: str | None
    memory_nodes: str | None
    numa: bool = False
    virtual_nodes: tuple[VirtualNode, ...] = ()
    huge_pages: str | None = None
    memory_hotplug: bool = False


class Guest(NamedTuple):
    """A guest, or processes that use GPUs. `vcpus` is the most it keeps busy, `memory_mib` the most it may use, None if
    unknown; `gpus` are addresses with their nodes, None for a node that the firmware does not report. `reserved`: MiB
    of each node that its configuration binds, allocated or not. `left_alone` is why no other place is proposed for it.
    `has_limit`: `vcpus` is a limit of its own, not the number of host threads that it is bound to or shares."""

    subject: str
    name: str | None
    running: bool
    vcpus: int
    memory_mib: int | None
    gpus: tuple[tuple[str, int | None], ...]
    now: Place
    configured: Configured
    reserved: Mapping[int, int] | None = None
    left_alone: str | None = None
    has_limit: bool = True
    pids: tuple[int, ...] = ()
    container: str | None = None

    @property
    def kind(self) -> str:
        """`vm`, `lxc` or `process`."""
        return self.subject.partition(":")[0]

    @property
    def id(self) -> str:
        return self.subject.partition(":")[2]

    @property
    def order(self) -> tuple[str, int, str]:
        """Sort key: guests by number instead of alphabetically."""
        return self.kind, int(self.id) if self.kind != "process" else 0, self.id
