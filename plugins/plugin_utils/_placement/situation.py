# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The input of a placement, from a host's facts: the topology, and each guest with its present place."""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ...module_utils._kernel.cpulist import parse_cpulist
from .._derive.reading import value
from .place import Configured, Guest, Place, VirtualNode
from .topology import Topology, topology

# Changes pending until the next start; numaN and affinity would have to agree with them.
_PENDING = frozenset(("affinity", "cores", "delete", "hugepages", "memory", "numa", "sockets", "vcpus",
                      *(f"numa{number}" for number in range(8))))


class Situation(NamedTuple):
    """`usable` are the CPUs available to guests: CPUs isolated by the kernel command line serve another purpose.
    `lacking` says why nothing can be proposed, or is None. `old_cgroups`: the host uses control groups version 1.
    `left_out` are guests that do not run, do not start with the host, and have no GPU to themselves."""

    topology: Topology
    guests: tuple[Guest, ...]
    usable: frozenset[int]
    old_cgroups: bool
    lacking: str | None
    left_out: tuple[str, ...] = ()


def situation(facts: Mapping[str, Any]) -> Situation:
    """The situation from a host's facts; nothing is read here."""
    top = topology(facts)
    isolated = _list(value(facts["cpu"]["isolated"]))
    usable = top.all_cpus - isolated or top.all_cpus
    lacking = _lacking(facts, top)
    claimed = gpus_by_owner(facts)
    left_out = [] if lacking else _left_out(facts, claimed)
    guests = () if lacking else tuple(sorted(_guests(facts, top, claimed, left_out), key=lambda guest: guest.order))
    old = any(one["name"] == "systemd.unified_cgroup_hierarchy" and str(one["value"]).lower() in ("0", "no", "false")
              for one in facts["kernel"]["parameters"])
    return Situation(top, guests, usable, old, lacking, tuple(left_out))


def _lacking(facts: Mapping[str, Any], top: Topology) -> str | None:
    if not top.cores:
        return "which CPUs the host has is not known"
    for name in ("guests", "processes"):
        reading = facts["placement"][name]
        if reading["status"] != "ok":
            return f"its {name} are not known ({reading['status']})"
    return None


def _guests(facts: Mapping[str, Any], top: Topology, claimed: Mapping[str, Any], left_out: Collection[str]
            ) -> Iterable[Guest]:
    there = Counter(top.near(node) for gpu in facts["gpus"] if (node := value(gpu["numa_node"])) is not None
                    and node >= 0 and not gpu["virtual_function"])
    for one in value(facts["placement"]["guests"]) or []:
        if not one["template"] and one["subject"] not in left_out:
            yield _guest(one, tuple(claimed.get(one["subject"], ())), top, there)
    for one in value(facts["placement"]["processes"]) or []:
        gpus = tuple(sorted({gpu for pid in one["pids"] for gpu in claimed.get(f"pid:{pid}", ())}))
        yield _process(one, gpus, top, there)


def _left_out(facts: Mapping[str, Any], claimed: Mapping[str, Any]) -> list[str]:
    """Guests that neither run nor start with the host, except those with GPUs that no other guest has."""
    starts = {f"{kind}:{guest['id']}" for kind, part in (("lxc", "containers"), ("vm", "vms"))
              for guest in value(facts["guests"][part]) or [] if guest["onboot"]}
    starts |= {guest["guest"] for guest in value(facts["guests"]["ha"]) or [] if guest["state"] == "started"}
    shares = Counter(gpu for gpus in claimed.values() for gpu in gpus)
    found = []
    for one in value(facts["placement"]["guests"]) or []:
        gpus = claimed.get(one["subject"], ())
        waits = bool(gpus) and all(shares[gpu] == 1 for gpu in gpus)
        if not (one["template"] or one["running"] or one["subject"] in starts or waits):
            found.append(one["subject"])
    return found


def gpus_by_owner(facts: Mapping[str, Any]) -> dict[str, list[tuple[str, int | None]]]:
    """`{vm:200: [(address, node)]}`, also by `lxc:101` and by `pid:4711`; the node is None if it is not reported."""
    found: dict[str, list[tuple[str, int | None]]] = {}
    for gpu in facts["gpus"]:
        node = value(gpu["numa_node"])
        entry = (gpu["bdf"], None if node is None or node < 0 else node)
        owners = [f"vm:{claim['vm']}" for claim in value(gpu["claimed_by"]) or [] if "(pending)" not in claim["key"]]
        owners += [f"lxc:{number}" for number in gpu["containers"]]
        owners += [f"pid:{user['pid']}" for user in value(gpu["users"]) or []]
        for owner in dict.fromkeys(owners):
            found.setdefault(owner, []).append(entry)
    return found


def _guest(one: Mapping[str, Any], gpus: tuple, top: Topology, there: Mapping[int, int]) -> Guest:
    settings, machine = one["configured"], one["configured"]["vm"]
    configured = Configured(value(settings["cpus"]), value(settings["memory_nodes"]), *(() if machine is None else (
        machine["numa"], tuple(_virtual_node(node) for node in machine["numa_nodes"]), machine["hugepages"],
        machine["hotplug_memory"])))
    reserved = configured_memory(configured, settings["memory_mib"])
    return Guest(one["subject"], one["name"], bool(one["running"]),
                 demand(settings["cores"], configured.cpus, gpus, top, there), settings["memory_mib"], gpus,
                 _now(one["real"], configured, reserved, top), configured, reserved, _left_alone(one, configured, gpus),
                 settings["cores"] is not None)


def _virtual_node(node: Mapping[str, Any]) -> VirtualNode:
    return VirtualNode(node["key"], node["cpus"], node["hostnodes"], node["memory_mib"], node["policy"])


def demand(cores: int | None, bound: str | None, gpus: tuple, top: Topology, there: Mapping[int, int]) -> int:
    """The largest number of CPUs a guest keeps busy: its own; for a container without a limit those it is bound to,
    otherwise its share of the CPUs at its GPUs, as if each GPU used the same. `there`: GPUs at each node."""
    if cores is not None:
        return cores
    if bound is not None:
        return len(_list(bound) & top.all_cpus)
    at = [top.near(node) for _bdf, node in gpus if node is not None]
    return sum(sum(len(core.cpus) for core in top.nodes[node].cores) * at.count(node) // max(1, there[node])
               for node in sorted(set(at))) or (len(top.all_cpus) if gpus else 0)


def _left_alone(one: Mapping[str, Any], configured: Configured, gpus: tuple) -> str | None:
    pending = sorted({line.partition(":")[0] for line in one["pending"]} & _PENDING)
    if pending:
        return f"changes wait for its next start ({', '.join(pending)}): start it anew, or take them back, first"
    for name in ("cpus", "memory_nodes"):
        if one["configured"][name]["status"] not in ("ok", "absent"):
            return "its configuration names CPUs or nodes in a form that is no list"
    if one["configured"]["cores"] is None and configured.cpus is None and not gpus:
        return "it has neither a limit of cores nor a GPU"
    return None


def _now(real: Mapping[str, Any] | None, configured: Configured, reserved: Mapping[int, int] | None,
         top: Topology) -> Place:
    """Where a guest runs, or would run by its configuration."""
    cpus = _list((value(real["cpus"]) if real else None) or configured.cpus)
    rows = value(real["memory"]) if real else None
    everywhere = not cpus or cpus >= top.all_cpus
    return Place(None if everywhere else cpus, real_memory(rows) or reserved, reserved is not None)


def configured_memory(configured: Configured, memory_mib: int | None) -> dict[int, int] | None:
    """`{node: MiB}` that the configuration binds, spread evenly over the host nodes of a virtual node; None if unbound,
    and if there is numaN without `numa`: QEMU does not get them then (PVE/QemuServer/Memory.pm, config())."""
    found: dict[int, int] = {}
    parts = [(node.host_nodes, node.memory_mib or 0) for node in configured.virtual_nodes if configured.numa] or [
        (configured.memory_nodes, memory_mib or 0)]
    for nodes, size in parts:
        if nodes is None:
            return None
        numbers = sorted(_list(nodes))
        for number in numbers:
            found[number] = found.get(number, 0) + size // len(numbers)
    return found or None


def real_memory(rows: Iterable[Mapping[str, Any]] | None) -> dict[int, int] | None:
    """`{node: MiB}` in use without the page cache; None if nothing is reported, or nothing is in use."""
    found = {row["node"]: (row["anon_kib"] + row["shmem_kib"] + row["hugetlb_kib"]) >> 10 for row in rows or ()}
    return {node: size for node, size in found.items() if size} or None


def _process(one: Mapping[str, Any], gpus: tuple, top: Topology, there: Mapping[int, int]) -> Guest:
    real = one["real"]
    cpus = value(real["cpus"])
    everywhere = cpus is None or _list(cpus) >= top.all_cpus
    limit = value(real["cpu_limit"])
    bound = None if everywhere else cpus
    cores = max(1, round(limit)) if limit else None
    memory = real_memory(value(real["memory"]))
    return Guest(one["subject"], one["name"], True, demand(cores, bound, gpus, top, there),
                 sum(memory.values()) if memory else None, gpus,
                 Place(None if everywhere else _list(cpus), memory), Configured(bound, None),
                 None, None if gpus else "which GPUs it holds is not known", cores is not None, tuple(one["pids"]),
                 one["container"])


def _list(text: str | None) -> frozenset[int]:
    """The numbers of a list; empty for an invalid text."""
    try:
        return frozenset(parse_cpulist(text or ""))
    except ValueError:
        return frozenset()
