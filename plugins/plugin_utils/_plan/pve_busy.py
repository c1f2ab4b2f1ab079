# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The busy gate of a Proxmox VE node: why nothing may be changed now. What cannot be read counts as an obstacle."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._render.text import one_line

REASON = "the node is busy"

# Service states that end with the service on another node; recovery and fence may use any node.
_ANYWHERE = ("fence", "recovery")
_HERE = ("migrate", "relocate", "request_start_balance", "freeze")
# Open consoles: they last as long as a user is connected, and nothing depends on them.
_CONSOLES = ("vncproxy", "vncshell", "spiceproxy", "spiceshell")


def reasons(facts: Mapping[str, Any]) -> list[str]:
    """One sentence per obstacle; none for a host that is not a Proxmox VE node."""
    guests, cluster = facts["guests"], facts["cluster"]
    if guests["status"] == {"status": "ok", "value": "none"}:
        return []
    if guests["status"]["status"] != "ok":
        return [_unknown("the state of this Proxmox VE node", "/etc/pve", guests["status"])]
    return [one_line(reason) for reason in (*_quorum(cluster["quorum"]), *_ha(cluster["ha"], _node(facts)),
                                            *_locks(guests), *_tasks(cluster["tasks"]))]


def _node(facts: Mapping[str, Any]) -> str:
    return (facts["identity"]["hostname"]["value"] or "").partition(".")[0]


def _quorum(quorum: dict[str, Any]) -> Iterator[str]:
    if quorum["status"] != "ok":
        yield _unknown("whether the cluster has quorum", "/etc/pve/.members", quorum)
    elif quorum["value"] == "not_quorate":
        yield "the cluster has no quorum"


def _ha(ha: dict[str, Any], node: str) -> Iterator[str]:
    if ha["status"] != "ok":
        yield _unknown("the state of high availability", "/etc/pve/ha/manager_status, lrm_status of the node", ha)
        return
    seen = ha["value"]
    if seen["node"] not in (None, "online"):
        yield f"high availability has this node in state {seen['node']}"
    yield from (f"node {other} is being fenced" for other in seen["fenced"] if other != node)
    if seen["lrm_mode"] not in (None, "active"):
        yield f"the HA resource manager of this node is in mode {seen['lrm_mode']}"
    if seen["lrm_state"] == "lost_agent_lock":
        yield "the HA resource manager of this node has lost its lock"
    for service in seen["services"]:
        state = service["state"]
        if state in _ANYWHERE or (state in _HERE and node in (service["node"], service["target"])):
            yield f"{service['id']} is in HA state {state}"


def _locks(guests: dict[str, Any]) -> Iterator[str]:
    for key, noun, path in (("containers", "container", "/etc/pve/lxc"), ("vms", "VM", "/etc/pve/qemu-server")):
        if guests[key]["status"] != "ok":
            yield _unknown(f"whether a {noun} is locked", path, guests[key])
        yield from (f"{noun} {guest['id']} is locked: {guest['lock']}" for guest in guests[key]["value"] or []
                    if guest["lock"])


def _tasks(tasks: dict[str, Any]) -> Iterator[str]:
    if tasks["status"] != "ok":
        yield _unknown("whether a task is running", "/var/log/pve/tasks/active", tasks)
    for task in tasks["value"] or []:
        if task["type"] not in _CONSOLES:
            yield f"task {task['type']}{' of ' + task['guest'] if task['guest'] else ''} of {task['user']} is running"


def _unknown(what: str, path: str, reading: dict[str, Any]) -> str:
    return f"{what} is not known: {path}: {reading['status'].replace('_', ' ')}"
