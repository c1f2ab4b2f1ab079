# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Guests that the HA manager may move: whether they would have their GPUs on the other nodes too.

`peers` are the facts of other cluster nodes by name, from their last audits. Sources:
`man ha-manager` (groups, rules of node affinity, states); Proxmox VE Administration Guide, Resource Mapping.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module_utils._pci.address import covers
from ..reading import value
from .containers import passed_on, rules_counted_on
from .elsewhere import place_on

# The manager neither starts nor moves guests in these states.
_LEFT_ALONE = ("ignored", "disabled")
Peers = Mapping[str, Mapping[str, Any]]


def managed(facts: Mapping[str, Any], subject: str) -> dict[str, Any] | None:
    """`{state, nodes}` of a guest managed by HA; `nodes` are the other nodes it may move to."""
    guests = facts["guests"]
    entry = next((entry for entry in value(guests["ha"]) or [] if entry["guest"] == subject), None)
    if entry is None or entry["state"] in _LEFT_ALONE:
        return None
    # A group or rule that is not strict is a preference: if its nodes fail, any other is used.
    nodes = entry["nodes"] if entry["nodes"] is not None and entry["strict"] else guests["cluster_nodes"]
    return {"state": entry["state"], "nodes": [node for node in nodes if node != guests["node"]]}


def container_elsewhere(container: Mapping[str, Any], facts: Mapping[str, Any], nodes: list[str],
                        peers: Peers) -> dict[str, Any]:
    """What would not work for a container on other nodes, as a reading."""
    return _answer(nodes, peers, lambda node: _container_on(container, facts, peers[node]))


def vm_elsewhere(vm: Mapping[str, Any], facts: Mapping[str, Any], nodes: list[str], peers: Peers) -> dict[str, Any]:
    """The same for a VM. A mapping covers the whole cluster; an address means a different device on each node."""
    by_mapping = {mapping["name"]: mapping["nodes"] for mapping in facts["guests"]["mappings"]}
    mapped = [named for named in vm["hostpci"] if named["mapping"]]
    found = [f"{node}: {named['key']}: the mapping {named['mapping']} has no device there" for node in nodes
             for named in mapped if node not in by_mapping.get(named["mapping"], [])]
    placed = next((one["configured"] for one in value(facts["placement"]["guests"]) or []
                   if one["subject"] == f"vm:{vm['id']}"), None)
    bound = placed is not None and (value(placed["cpus"]) or value(placed["memory_nodes"]))
    if len(mapped) == len(vm["hostpci"]) and not bound:
        return {"status": "ok", "value": found}
    answer = _answer(nodes, peers, lambda node: _vm_on(vm, facts, peers[node]) + (
        place_on(placed, peers[node]) if placed else []))
    return {"status": "ok", "value": found + (answer["value"] or [])} if found else answer


def _answer(nodes: list[str], peers: Peers, judge: Any) -> dict[str, Any]:
    """A reading of problems by node; unreadable if there are none but a node was not audited."""
    found = [f"{node}: {problem}" for node in nodes if node in peers for problem in judge(node)]
    unseen = [node for node in nodes if node not in peers]
    if unseen and not found:
        return {"status": f"{', '.join(unseen)} not audited yet with this report directory", "value": None}
    return {"status": "ok", "value": found}


def _container_on(container: Mapping[str, Any], facts: Mapping[str, Any], peer: Mapping[str, Any]) -> list[str]:
    there = {entry["name"]: entry["major"] for entry in value(peer["nvidia"]["majors"]) or []}
    found = []
    for rule in rules_counted_on(container, facts):
        for owner in rule["owners"]:
            if there.get(owner) != rule["major"]:
                found.append(f"{rule['value']} is {owner} here, whose major there is {there.get(owner, 'none')}")
    nodes = {node["path"] for node in value(peer["nvidia"]["nodes"]) or [] if node["type"] == "c"}
    found += [f"{path} is missing, so it does not start" for path in passed_on(container)
              if path.startswith("/dev/nvidia") and path not in nodes]
    version = value(peer["nvidia"]["driver_version"])
    return found + [f"{library['path'].rpartition('/')[2]} is mounted, and its driver is {version or 'not loaded'}"
                    for library in container["libraries"] if library["version"] != version]


def _vm_on(vm: Mapping[str, Any], facts: Mapping[str, Any], peer: Mapping[str, Any]) -> list[str]:
    """The problems of a VM on another node: named by address, it gets whatever device is there."""
    there = {gpu["bdf"]: _model(gpu) for gpu in peer["gpus"]}
    named_here = [(named["key"], gpu) for named in vm["hostpci"] if named["mapping"] is None for gpu in facts["gpus"]
                  if any(covers(bdf, gpu["bdf"]) for bdf in named["bdfs"] or [])]
    return [f"{key}: {gpu['bdf']} is {_model(gpu)} here and {there.get(gpu['bdf'], 'no GPU')} there"
            for key, gpu in named_here if there.get(gpu["bdf"]) != _model(gpu)]


def _model(gpu: Mapping[str, Any]) -> str:
    return f"{gpu['vendor']}:{gpu['device']}"
