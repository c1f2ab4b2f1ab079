# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Processes that use GPUs and belong to no Proxmox VE guest: services, containers of any engine, other programs.

They are grouped by systemd unit or container, whose cgroup has their limits and memory.
"""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import ABSENT, Reading, ok
from .._kernel.containers import own_group
from .._kernel.cpulist import format_cpulist, parse_cpulist
from . import cgroup
from .threads import read_threads

PROCESS_LIMIT = 512     # processes that are examined
_OF_VMS = "/qemu.slice/"


def read_processes(host: Host, users: Reading, guests: dict) -> Reading:
    """`[{subject, name, container, pids, commands, processes, real}]`; schemas/facts/placement.json explains the keys.

    `users`: from read_users(); `guests`: the facts of that name.
    """
    if not users.ok:
        return Reading(users.status, None, users.detail)
    of_guests = {container["id"] for container in guests["containers"].value or []}
    groups: dict[str, list[tuple[dict, str | None]]] = {}
    for user in users.value[:PROCESS_LIMIT]:
        path = host.read(f"/proc/{user['pid']}/cgroup").map(cgroup.path_of).value
        if user["persistenced"] or user["container"] in of_guests or (path or "").startswith(_OF_VMS):
            continue
        name, own = _name(user, path)
        groups.setdefault(name, []).append((user, own))
    return ok([_group(host, name, members) for name, members in groups.items()])


def _name(user: dict, path: str | None) -> tuple[str, str | None]:
    """The name of a process's group, and its dedicated cgroup; None for a plain process, which has none."""
    found = own_group(path or "")
    if user["container"] is not None:
        return user["container"], found[1] if found else path
    return found or (user["command"], None)


def _group(host: Host, name: str, members: list[tuple[dict, str | None]]) -> dict:
    threads = [read_threads(host, user["pid"]) for user, _own in members]
    path = members[0][1]
    group = cgroup.read_group(host, path) if path else dict.fromkeys(
        ("cpuset", "cpu_limit", "memory_limit_kib", "memory"), Reading(ABSENT, None, "no control group is its alone"))
    users = [user for user, _own in members]
    return {
        "subject": f"process:{name}", "name": name, "container": users[0]["container"],
        "pids": [user["pid"] for user in users], "commands": sorted({user["command"] for user in users}),
        "processes": [{"pid": user["pid"], "command": user["command"], "cpus": told["cpus"],
                       "memory_nodes": told["memory_nodes"]} for user, told in zip(users, threads)],
        "real": {"pid": users[0]["pid"], **group, "threads": _counted(threads),
                 "cpus": _together([told["cpus"] for told in threads]),
                 "memory_nodes": _together([told["memory_nodes"] for told in threads])},
    }


def _counted(threads: list[dict]) -> Reading:
    """The threads of all processes, counted by the CPUs that they may run on."""
    counts: dict[str, int] = {}
    for told in threads:
        if not told["threads"].ok:
            return told["threads"]
        for entry in told["threads"].value:
            counts[entry["cpus"]] = counts.get(entry["cpus"], 0) + entry["count"]
    return ok([{"cpus": cpus, "count": count} for cpus, count in sorted(counts.items())])


def _together(lists: list[Reading]) -> Reading:
    """The union of the lists; not ok if one of them is not."""
    lost = next((one for one in lists if not one.ok), None)
    return lost or ok(format_cpulist({number for one in lists for number in parse_cpulist(one.value)}))
