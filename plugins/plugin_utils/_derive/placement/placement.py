# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""`derived.placement`: for everything that uses a GPU, where it should run and what is wrong with its placement."""
from __future__ import annotations

from typing import Any

from ..reading import value
from .cpu_type import as_host, cpu_setting, judge_cpu_type
from .cpus import judge_cpus, where
from .memory import bound_nodes, has_memory_to_judge, judge_memory
from .pinned import judge_pinned
from .sharing import judge_interrupts, judge_sharing
from .situation import Placed, Topology, placed, shown, topology
from .vm_devices import judge_balloon, judge_pcie
from .vm_memory import (
    is_worth_huge_pages,
    judge_huge_pages,
    judge_settings,
    judge_virtual_nodes,
    virtual_nodes,
)


def placement(facts: dict[str, Any], gpus: list[dict[str, Any]]) -> dict[str, Any]:
    """`{users, vms, pinned}`; schemas/facts/derived.json explains the keys. `gpus` have their derived values."""
    host = topology(facts)
    compute = [gpu for gpu in gpus if gpu["derived"]["compute"]]
    everything = placed(facts, compute, set(host.cpus))
    hostpci = {f"vm:{vm['id']}": vm["hostpci"] for vm in value(facts["guests"]["vms"]) or []}
    free = {node["id"]: value(node["free_kib"]) for node in facts["numa"]["nodes"]}
    return {
        "users": [_user(one, everything, host, compute) for one in everything if one.gpus],
        "vms": [_vm(one, host, hostpci[one.subject], facts["placement"]["features"], free) for one in everything
                if one.kind == "vm"],
        "pinned": judge_pinned(everything, {subject for subject, named in hostpci.items() if named}, host,
                               facts["memory"]["total_kib"]),
    }


def _user(one: Placed, everything: list[Placed], host: Topology, gpus: list[dict[str, Any]]) -> dict[str, Any]:
    near = host.near(one.nodes)
    nodes = bound_nodes(one)
    return {
        "subject": one.subject, "id": one.entry.get("id"), "kind": one.kind, "name": one.entry["name"],
        "container": one.entry.get("container"),
        "gpus": [bdf for bdf, _node in one.gpus], "nodes": sorted(one.nodes),
        "where": where(one), "bound": one.bound() is not None, "near_cpus": shown(near) or None,
        "memory_bound": None if nodes is None else ",".join(map(str, sorted(nodes))),
        "near_nodes": ",".join(map(str, sorted(one.nodes))) or None,
        "cpus": judge_cpus(one, host, gpus),
        "memory_judged": has_memory_to_judge(one), "memory": judge_memory(one, host),
        "sharing": judge_sharing(one, everything, host),
        "interrupts": judge_interrupts(one, everything, host, gpus),
    }


def _vm(one: Placed, host: Topology, hostpci: list[dict[str, Any]], features: dict[str, Any],
        free: dict[int, int | None]) -> dict[str, Any]:
    configured = one.entry["configured"]
    return {
        "subject": one.subject, "id": one.entry["id"], "gpus": [bdf for bdf, _node in one.gpus],
        "devices": len(hostpci), "nodes": sorted(one.nodes), "numa": configured["vm"]["numa"],
        "numa_nodes": virtual_nodes(one), "settings": judge_settings(one, host),
        "virtual_nodes": judge_virtual_nodes(one, host),
        "cpu_type": configured["vm"]["cpu_type"], "cpu_setting": cpu_setting(configured["vm"]),
        "cpu_as_host": as_host(cpu_setting(configured["vm"])),
        "hidden_features": judge_cpu_type(configured["vm"], features),
        "machine": configured["vm"]["machine"] or "i440fx", "pcie": judge_pcie(one, hostpci),
        "balloon": judge_balloon(one, hostpci), "memory_mib": configured["memory_mib"],
        "hugepages": configured["vm"]["hugepages"], "huge_pages_judged": is_worth_huge_pages(one),
        "huge_pages": judge_huge_pages(one, free),
    }
