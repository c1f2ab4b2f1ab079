# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The other nodes of a Proxmox VE cluster, as the audits of this folder of reports know them."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._groups import value
from ._record import HostFolder, RecordError, read_json


def read_peers(folder: HostFolder, facts: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The facts of other nodes by their names, the newest audit of each.

    Nothing is opened for a host whose cluster has no guest that its HA manager moves: only those may come to another.
    """
    guests = facts["guests"]
    others = set(guests["cluster_nodes"]) - {guests["node"]}
    if not others or not value(guests["ha"]):
        return {}
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.path.parent.glob("*/audit.json")):
        peer = None if path.parent == folder.path else _facts_of(path)
        if peer is None or peer["guests"]["cluster_nodes"] != guests["cluster_nodes"]:
            continue
        node = peer["guests"]["node"]
        if node in others and (node not in found or found[node]["collected_at"] < peer["collected_at"]):
            found[node] = peer
    return found


def _facts_of(path: Any) -> dict[str, Any] | None:
    """The facts of a recorded audit; None for a file that is none of ours, or of a version without these facts."""
    try:
        facts = read_json(path)["facts"]
        return facts if {"node", "cluster_nodes"} <= facts["guests"].keys() else None
    except (RecordError, KeyError, TypeError, AttributeError):
        return None
