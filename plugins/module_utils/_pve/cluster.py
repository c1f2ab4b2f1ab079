# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Quorum, high-availability state and running tasks of a Proxmox VE node.

Sources: cfs_create_memberlist_msg() of pmxcfs for /etc/pve/.members; PVE/HA/Manager.pm and PVE/HA/LRM.pm for the
states; read_active_workers() in PVE/RESTEnvironment.pm and PVE/UPID.pm for /var/log/pve/tasks/active.
"""
from __future__ import annotations

import json
import re

from .._host.host import Host
from .._host.reading import ABSENT, Reading, ok, settle
from .guests import PROXMOX, read_node

QUORATE, NOT_QUORATE, STANDALONE = "quorate", "not_quorate", "standalone"

_MEMBERS = "/etc/pve/.members"
_MANAGER = "/etc/pve/ha/manager_status"
_TASKS = "/var/log/pve/tasks/active"
# Either file makes the node a cluster member: the shared one, and the local copy that corosync starts from.
_COROSYNC = ("/etc/pve/corosync.conf", "/etc/corosync/corosync.conf")

# <upid> <saved>, followed by end time and status if the task has ended.
_TASK = re.compile(r"UPID:[^:\s]+:[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8,9}:([0-9A-Fa-f]{8}):([^:\s]+):([^:\s]*):([^:\s]+):"
                   r"\s[01](\s[0-9A-Za-z]{8}(\s.*)?)?")


def read(host: Host, guests: dict) -> dict:
    """The `cluster` section of the facts; nothing is read on a host without Proxmox VE."""
    status = guests["status"]
    if not status.ok or status.value != PROXMOX:
        nothing = Reading(ABSENT if status.ok else status.status, None, status.detail)
        return {"quorum": nothing, "ha": nothing, "tasks": nothing}
    return settle({"quorum": lambda: read_quorum(host), "ha": lambda: read_ha(host, read_node(host)),
                   "tasks": lambda: read_tasks(host)})


def read_quorum(host: Host) -> Reading:
    """`quorate`, `not_quorate` or `standalone`.

    If corosync is down, pmxcfs lists no members, exactly as on a standalone node; corosync.conf tells them apart.
    """
    quorum = host.read(_MEMBERS).map(parse_quorum)
    if quorum.ok and quorum.value == STANDALONE and any(host.exists(path) for path in _COROSYNC):
        return ok(NOT_QUORATE)
    return quorum


def parse_quorum(text: str) -> str:
    members = _object(json.loads(text))
    if "cluster" not in members:
        return STANDALONE
    return QUORATE if _object(members["cluster"])["quorate"] == 1 else NOT_QUORATE


def read_ha(host: Host, node: str) -> Reading:
    """`{node, fenced, services: [{id, state, node, target}], lrm_mode, lrm_state}`.

    If high availability was never used, neither file exists; nothing is in progress then.
    """
    manager = _or_nothing(host.read(_MANAGER).map(lambda text: parse_manager(text, node)), parse_manager("{}", node))
    if not manager.ok:
        return manager
    local = _or_nothing(host.read(f"/etc/pve/nodes/{node}/lrm_status").map(parse_local), parse_local("{}"))
    return local.map(lambda found: {**manager.value, **found})


def parse_manager(text: str, node: str) -> dict:
    """ha/manager_status: the state of this node, the nodes being fenced, and every service with its state."""
    document = _object(json.loads(text))
    nodes = _object(document.get("node_status") or {})
    services = [{"id": name, **{key: _word(service, key) for key in ("state", "node", "target")}}
                for name, service in sorted(_object(document.get("service_status") or {}).items())]
    return {"node": _word(nodes, node), "fenced": sorted(name for name, state in nodes.items() if state == "fence"),
            "services": services}


def parse_local(text: str) -> dict:
    """nodes/<node>/lrm_status: mode and state of the node's local resource manager (whether it holds its lock)."""
    document = _object(json.loads(text))
    return {"lrm_mode": _word(document, "mode"), "lrm_state": _word(document, "state")}


def read_tasks(host: Host) -> Reading:
    """The running tasks: `[{type, guest, user, started}]`, `started` in seconds since the epoch.

    A task that died silently stays in the file for at most ten seconds, until pvestatd removes it.
    """
    return _or_nothing(host.read(_TASKS).map(parse_tasks), [])


def parse_tasks(text: str) -> list[dict]:
    found = []
    for line in text.splitlines():
        task = _TASK.fullmatch(line.rstrip())
        if task is None:
            if line.strip():
                raise ValueError(f"{line!r} is no task")
        elif task[5] is None:
            found.append({"type": task[2], "guest": task[3] or None, "user": task[4], "started": int(task[1], 16)})
    return found


def _or_nothing(reading: Reading, nothing: object) -> Reading:
    return ok(nothing) if reading.status == ABSENT else reading


def _object(value: object) -> dict:
    if not isinstance(value, dict):
        raise ValueError("an object was expected")
    return value


def _word(thing: object, key: str) -> str | None:
    word = _object(thing).get(key)
    if not isinstance(word, (str, type(None))):
        raise ValueError(f"{key} is no word")
    return word
