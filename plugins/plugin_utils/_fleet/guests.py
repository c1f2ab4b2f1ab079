# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Proxmox VE guests that are also hosts of the fleet: the NUMA nodes of their GPUs, outside and inside.

A VM has the UUID of smbios1 as its product_uuid, a container the hardware address of one of its netN. Each side is
known from its own audit; they are matched here, on the controller.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._derive.placement.situation import placed, topology
from .._render.text import count

NOTHING: dict[str, Any] = {"uuid": None, "addresses": [], "gpu_nodes": [], "guests": []}


def of_host(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The part kept in a row: `{uuid, addresses, gpu_nodes, guests: [{subject, uuid, addresses, nodes}]}`.

    The UUID or addresses identify the host as a guest, `gpu_nodes` are the NUMA nodes at which it sees its GPUs. Only
    its own guests with GPUs are kept. NOTHING if the facts are older, or a recording does not have them.
    """
    try:
        own = facts["placement"]["own"]
        nodes = {node["id"] for node in facts["numa"]["nodes"] if node["cpus"]}
        gpus = facts["gpus"]
        seen = {gpu["numa_node"]["value"] for gpu in gpus} & nodes
        return {"uuid": own["uuid"]["value"], "addresses": own["addresses"], "gpu_nodes": sorted(seen), "guests": [
            {"subject": one.subject, "uuid": (one.entry["configured"]["vm"] or {}).get("uuid"),
             "addresses": one.entry["configured"]["addresses"], "nodes": sorted(one.nodes)}
            for one in placed(facts, gpus, set(topology(facts).cpus)) if one.gpus and one.configured is not None]}
    except (KeyError, TypeError, AttributeError):
        return dict(NOTHING)


def joined(rows: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`[{host, subject, guest, outside, inside, problem}]`: each guest that is a host of the fleet, with the nodes of
    its GPUs on both sides; `problem` is a sentence, or empty."""
    by_uuid = _owners((row["place"]["uuid"], name) for name, row in rows.items() if row["place"]["uuid"])
    by_address = _owners((address, name) for name, row in rows.items() for address in row["place"]["addresses"])
    found = []
    for host, row in rows.items():
        for guest in row["place"]["guests"]:
            names = [by_address.get(address) for address in guest["addresses"]] if guest["subject"].startswith("lxc") \
                else [by_uuid.get(guest["uuid"])]
            name = next((name for name in names if name not in (None, host)), None)
            if name is not None:
                found.append(_pair(host, guest, name, rows[name]["place"]["gpu_nodes"]))
    return found


def _owners(claims: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The host by UUID or address. One that two hosts have, as copies of a VM may, identifies neither."""
    owners: dict[str, set[str]] = {}
    for claimed, name in claims:
        owners.setdefault(claimed, set()).add(name)
    return {claimed: names.pop() for claimed, names in owners.items() if len(names) == 1}


def _pair(host: str, guest: Mapping[str, Any], name: str, inside: list[int]) -> dict[str, Any]:
    outside = guest["nodes"]
    problem = ""
    if len(outside) > max(1, len(inside)):
        problem = (f"its GPUs are at {count(len(outside), 'node')} of {host}, and it sees "
                   f"{'them at no node' if not inside else 'all of them at ' + count(len(inside), 'node')}")
    return {"host": host, "subject": guest["subject"], "guest": name, "outside": outside, "inside": inside,
            "problem": problem}
