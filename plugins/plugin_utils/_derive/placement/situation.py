# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What is placed on a host, and on what: guests and processes with the GPUs they use, CPUs and nodes of the host."""
from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from ....module_utils._kernel.cpulist import format_cpulist, parse_cpulist
from ....module_utils._pci.address import covers
from ..reading import hidden, value

Cpus = frozenset[int]


class Topology(NamedTuple):
    """CPUs and memory of the host by NUMA node, of those nodes that have CPUs; and the CPUs of each core."""

    cpus: dict[int, Cpus]
    memory_kib: dict[int, int]
    cores: tuple[Cpus, ...]
    cores_told: bool        # else each CPU counts as a core
    hidden: str | None      # the status of memory that was not told

    @property
    def online(self) -> Cpus:
        return frozenset().union(*self.cpus.values())

    def near(self, nodes: set[int]) -> Cpus:
        """The CPUs of these nodes."""
        return frozenset().union(*(self.cpus[node] for node in nodes if node in self.cpus))

    def nodes_of(self, cpus: Cpus) -> list[int]:
        """The nodes that these CPUs are of."""
        return [node for node, own in self.cpus.items() if own & cpus]


class Placed(NamedTuple):
    """A guest, or the processes of a unit or container; `entry` is what the facts say of it."""

    subject: str
    gpus: tuple[tuple[str, int | None], ...]    # address and node, None where nobody knows it
    entry: Mapping[str, Any]
    hidden: str | None      # the status of a node that was not told, or of who uses a GPU

    @property
    def bdfs(self) -> set[str]:
        return {bdf for bdf, _node in self.gpus}

    @property
    def nodes(self) -> set[int]:
        """The nodes of its GPUs, as far as they are known."""
        return {node for _bdf, node in self.gpus if node is not None}

    @property
    def unsettled(self) -> str | None:
        """Why nobody knows at which nodes all of its GPUs are; None where that is known."""
        nowhere = [bdf for bdf, node in self.gpus if node is None]
        return self.hidden or (f"nobody knows at which node {', '.join(nowhere)} is" if nowhere else None)

    @property
    def configured(self) -> Mapping[str, Any] | None:
        return self.entry.get("configured")

    @property
    def kind(self) -> str:
        return self.subject.partition(":")[0]

    @property
    def starts(self) -> bool:
        """It runs, or will: what neither runs nor starts with the host takes nothing from others."""
        return bool(self.entry.get("running", True)) or bool(self.entry.get("onboot"))

    def bound(self) -> Cpus | None:
        """The CPUs that its configuration binds it to; None for none."""
        return None if self.configured is None else as_cpus(self.configured["cpus"])

    def now(self) -> Cpus | None:
        """The CPUs that it may run on now; None where it does not run, or that was not read."""
        real = self.entry["real"]
        return None if real is None else as_cpus(real["cpus"])

    def demand(self) -> int | None:
        """How many CPUs it has; None for a container or process that has those of the host."""
        return None if self.configured is None else self.configured["cores"]


def as_cpus(reading: Mapping[str, Any]) -> Cpus | None:
    """The CPUs of a cpulist that was read; None where there is none."""
    text = value(dict(reading))
    return None if text is None else _parsed(text)


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> Cpus:
    return frozenset(parse_cpulist(text))


def shown(cpus: Cpus) -> str:
    return format_cpulist(cpus)


def topology(facts: Mapping[str, Any]) -> Topology:
    """The nodes with CPUs; a CPU of which no core is told is one by itself."""
    nodes = [node for node in facts["numa"]["nodes"] if node["cpus"]]
    cpus = {node["id"]: frozenset(parse_cpulist(node["cpus"])) for node in nodes}
    told = tuple(frozenset(parse_cpulist(core)) for core in facts["placement"]["cores"])
    rest = frozenset().union(*cpus.values()) - frozenset().union(*told)
    cores = told + tuple(frozenset((cpu,)) for cpu in sorted(rest))
    return Topology(cpus, {node["id"]: value(node["memory_kib"]) or 0 for node in nodes}, cores,
                    bool(told), hidden(node["memory_kib"] for node in nodes))


def placed(facts: Mapping[str, Any], gpus: list[dict[str, Any]], known_nodes: set[int]) -> list[Placed]:
    """Everything that is placed, guests without a GPU too, templates apart: they never start."""
    onboot = {f"{kind}:{guest['id']}": guest["onboot"] for kind, section in (("lxc", "containers"), ("vm", "vms"))
              for guest in value(facts["guests"][section]) or []}
    claims = {f"vm:{vm['id']}": [bdf for named in vm["hostpci"] if holds_now(named) for bdf in named["bdfs"] or []]
              for vm in value(facts["guests"]["vms"]) or []}
    found = []
    for entry in value(facts["placement"]["guests"]) or []:
        if entry["template"]:
            continue
        own = [gpu for gpu in gpus if _has(entry, gpu, claims.get(entry["subject"], []))]
        found.append(Placed(entry["subject"], _with_nodes(own, known_nodes),
                            {**entry, "onboot": onboot.get(entry["subject"], False)},
                            hidden(gpu["numa_node"] for gpu in own)))
    for entry in value(facts["placement"]["processes"]) or []:
        own = [gpu for gpu in gpus if set(entry["pids"]) & _users(gpu)]
        found.append(Placed(entry["subject"], _with_nodes(own, known_nodes), entry, _hidden_of_processes(own, gpus)))
    return found


def holds_now(named: Mapping[str, Any]) -> bool:
    """Whether a device that a VM names is no change that waits for its next start."""
    return not named["key"].endswith("(pending)")


def of_process(one: Placed, pid: int, gpus: list[dict[str, Any]], known_nodes: set[int]) -> Placed:
    """One process of several, with the GPUs that it holds itself."""
    own = [gpu for gpu in gpus if pid in _users(gpu)]
    return Placed(one.subject, _with_nodes(own, known_nodes), one.entry, _hidden_of_processes(own, gpus))


def _has(entry: Mapping[str, Any], gpu: dict[str, Any], claimed: list[str]) -> bool:
    if entry["kind"] == "lxc":
        return entry["id"] in gpu["containers"]
    return any(covers(bdf, gpu["bdf"]) for bdf in claimed)


def _hidden_of_processes(own: list[dict[str, Any]], gpus: list[dict[str, Any]]) -> str | None:
    return hidden([*(gpu["users"] for gpu in gpus), *(gpu["numa_node"] for gpu in own)])


def _users(gpu: dict[str, Any]) -> set[int]:
    return {user["pid"] for user in value(gpu["users"]) or []}


def _with_nodes(gpus: list[dict[str, Any]], known_nodes: set[int]) -> tuple[tuple[str, int | None], ...]:
    """A GPU whose node has no CPUs, or that is at -1, is at a node that nobody knows."""
    return tuple((gpu["bdf"], node if (node := value(gpu["numa_node"])) in known_nodes else None) for gpu in gpus)
