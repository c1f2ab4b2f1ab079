# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What a placement is: the CPUs of a guest, and the nodes of its memory."""
from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...module_utils._kernel.cpulist import format_cpulist


class Part(NamedTuple):
    """What a guest gets at one node: how many of its virtual CPUs, how much of its memory."""

    node: int
    vcpus: int
    memory_mib: int


class Place(NamedTuple):
    """`cpus` is None where a guest may run on any. `memory` is by node, in MiB: where it lies or will lie, None where
    it lies wherever the CPUs are that touch it first. `bound`: the configuration binds it there. `parts` is what is
    proposed, a virtual node each for a VM; empty for what a guest has now."""

    cpus: frozenset[int] | None
    memory: Mapping[int, int] | None = None
    bound: bool = False
    parts: tuple[Part, ...] = ()

    @property
    def cpu_list(self) -> str | None:
        return None if self.cpus is None else format_cpulist(self.cpus)

    @property
    def memory_list(self) -> str | None:
        """The nodes that hold memory, as a list; None where nobody knows."""
        holding = [node for node, size in (self.memory or {}).items() if size]
        return format_cpulist(holding) or None


class VirtualNode(NamedTuple):
    """`numaN` of a VM as it is configured; lists in the kernel's form."""

    key: str
    cpus: str | None
    host_nodes: str | None
    memory_mib: int | None
    policy: str | None


class Configured(NamedTuple):
    """What a guest's configuration says of its placement now: lists in the kernel's form, None for what is not set."""

    cpus: str | None
    memory_nodes: str | None
    numa: bool = False
    virtual_nodes: tuple[VirtualNode, ...] = ()
    huge_pages: str | None = None
    memory_hotplug: bool = False


class Guest(NamedTuple):
    """A guest, or processes that hold GPUs. `vcpus` is what it keeps busy at most, `memory_mib` what it may fill, None
    where nobody knows; `gpus` are addresses with their nodes, None for one whose node the firmware does not tell.
    `reserved`: MiB of each node that its configuration binds, whether it has taken them or not. `left_alone` is why
    nothing else is proposed for it. `has_limit`: `vcpus` is its own, not threads of the host that it is bound to or
    shares."""

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
        """Guests by number, not by letters."""
        return self.kind, int(self.id) if self.kind != "process" else 0, self.id
