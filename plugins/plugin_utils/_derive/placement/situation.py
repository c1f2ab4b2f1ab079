# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Guests and processes of a host with the GPUs they use, and the host's CPUs and NUMA nodes."""
from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from ....module_utils._kernel.cpulist import format_cpulist, parse_cpulist
from ....module_utils._pci.address import covers
from ..reading import hidden, value

Cpus = frozenset[int]


class Topology(NamedTuple):
    """CPUs and memory of the host by NUMA node, for nodes with CPUs; and the CPUs of each core."""

    cpus: dict[int, Cpus]
    memory_kib: dict[int, int]
    cores: tuple[Cpus, ...]
    cores_told: bool        # else each CPU counts as a core
    hidden: str | None      # the status of memory that could not be read

    @property
    def online(self) -> Cpus:
        return frozenset().union(*self.cpus.values())

    def near(self, nodes: set[int]) -> Cpus:
        """The CPUs of these nodes."""
        return frozenset().union(*(self.cpus[node] for node in nodes if node in self.cpus))

    def nodes_of(self, cpus: Cpus) -> list[int]:
        """The nodes of these CPUs."""
        return [node for node, own in self.cpus.items() if own & cpus]


class Placed(NamedTuple):
    """A guest, or the processes of a unit or container; `entry` is its entry in the facts."""

    subject: str
    gpus: tuple[tuple[str, int | None], ...]    # address and node, None if not known
    entry: Mapping[str, Any]
    hidden: str | None      # the status of an unreadable node, or of an unreadable list of GPU users

    @property
    def bdfs(self) -> set[str]:
        return {bdf for bdf, _node in self.gpus}

    @property
    def nodes(self) -> set[int]:
        """The nodes of its GPUs, as far as they are known."""
        return {node for _bdf, node in self.gpus if node is not None}

    @property
    def unsettled(self) -> str | None:
        """Why the nodes of its GPUs are not all known; None if they are."""
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
        """Whether it runs or starts with the host: anything else does not compete with others."""
        return bool(self.entry.get("running", True)) or bool(self.entry.get("onboot"))

    def bound(self) -> Cpus | None:
        """The CPUs that its configuration binds it to; None for none."""
        return None if self.configured is None else as_cpus(self.configured["cpus"])

    def now(self) -> Cpus | None:
        """The CPUs that it may run on now; None if it does not run or they were not read."""
        real = self.entry["real"]
        return None if real is None else as_cpus(real["cpus"])

    def demand(self) -> int | None:
        """How many CPUs it has; None for a container or process that may use all of the host's."""
        return None if self.configured is None else self.configured["cores"]


def as_cpus(reading: Mapping[str, Any]) -> Cpus | None:
    """The CPUs of a cpulist that was read; None if there is none."""
    text = value(dict(reading))
    return None if text is None else _parsed(text)


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> Cpus:
    return frozenset(parse_cpulist(text))


def shown(cpus: Cpus) -> str:
    return format_cpulist(cpus)


def topology(facts: Mapping[str, Any]) -> Topology:
    """The nodes with CPUs; a CPU whose core is not known counts as a core."""
    nodes = [node for node in facts["numa"]["nodes"] if node["cpus"]]
    cpus = {node["id"]: frozenset(parse_cpulist(node["cpus"])) for node in nodes}
    told = tuple(frozenset(parse_cpulist(core)) for core in facts["placement"]["cores"])
    rest = frozenset().union(*cpus.values()) - frozenset().union(*told)
    cores = told + tuple(frozenset((cpu,)) for cpu in sorted(rest))
    return Topology(cpus, {node["id"]: value(node["memory_kib"]) or 0 for node in nodes}, cores,
                    bool(told), hidden(node["memory_kib"] for node in nodes))


def placed(facts: Mapping[str, Any], gpus: list[dict[str, Any]], known_nodes: set[int]) -> list[Placed]:
    """All guests and GPU processes, including guests without a GPU; not templates, which never start."""
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
    """Whether a device that a VM names is active, not a change pending until its next start."""
    return not named["key"].endswith("(pending)")


def of_process(one: Placed, pid: int, gpus: list[dict[str, Any]], known_nodes: set[int]) -> Placed:
    """One process of several, with the GPUs that it uses itself."""
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
    """Addresses and nodes of the GPUs; a node of -1, or one without CPUs, counts as not known."""
    return tuple((gpu["bdf"], node if (node := value(gpu["numa_node"])) in known_nodes else None) for gpu in gpus)
