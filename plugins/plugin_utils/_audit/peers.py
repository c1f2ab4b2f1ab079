# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The other nodes of a Proxmox VE cluster, from their audits in this report folder.

Each audit of a node writes the facts that others need about it to `<report_dir>/.clusters/<cluster>/<node>.json`, so
that an audit reads one small file for each other node of its cluster, however many hosts the folder has.
"""
from __future__ import annotations

import hashlib
import pathlib
from collections.abc import Mapping
from typing import Any

from .._checks.findings import value
from .._records.host_folder import HostFolder, RecordError, identity, read_json, write_compact

FOLDER = ".clusters"


def note_peer(folder: HostFolder, facts: Mapping[str, Any]) -> None:
    """Record what other nodes need to know about this one; call this after writing its audit.json."""
    guests = facts["guests"]
    node = value(guests["node"])
    if node is not None and set(value(guests["cluster_nodes"], [])) - {node}:
        write_compact(_path(folder, guests["cluster_nodes"], guests["node"]), {
            "host": folder.path.name, "of": identity(folder.path / "audit.json"), "facts": _asked(facts)})


def read_peers(folder: HostFolder, facts: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The facts of other nodes by name, from the newest audit of each; _asked() selects them.

    Nothing is read if the cluster has no guest managed by HA: only such guests may move to another node.
    """
    guests = facts["guests"]
    if not value(guests["ha"]):
        return {}
    nodes = value(guests["cluster_nodes"], [])
    found = {node: _facts_of(folder, nodes, node) for node in nodes if node != guests["node"]}
    return {node: peer for node, peer in found.items() if peer is not None}


def _asked(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that _derive/guests/ha.py needs about a peer, and those that identify the node."""
    return {
        "collected_at": facts["collected_at"],
        "guests": {name: facts["guests"][name] for name in ("node", "cluster_nodes")},
        "nvidia": {name: facts["nvidia"][name] for name in ("majors", "nodes", "driver_version")},
        "gpus": [{name: gpu[name] for name in ("bdf", "vendor", "device")} for gpu in value(facts["gpus"], [])],
    }


def _facts_of(folder: HostFolder, cluster: list[str], node: str) -> dict[str, Any] | None:
    """The facts from the last audit of a node; None without one, or if the record belongs to another node now."""
    try:
        kept = read_json(_path(folder, cluster, node))
        audit = HostFolder(str(folder.path.parent), kept["host"]).path / "audit.json"
        # If the record was copied or rewritten, read it instead.
        peer = kept["facts"] if kept["of"] == identity(audit) else _asked(read_json(audit)["facts"])
        ours = peer["guests"]["node"] == node and peer["guests"]["cluster_nodes"] == cluster
    except (RecordError, OSError, KeyError, TypeError, AttributeError):
        return None
    return peer if ours else None


def _path(folder: HostFolder, cluster: list[str], node: str) -> pathlib.Path:
    return folder.path.parent / FOLDER / _digest("\n".join(cluster)) / f"{_digest(node)}.json"


def _digest(text: str) -> str:
    """A file name for a node: its own name may not be a valid one."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
