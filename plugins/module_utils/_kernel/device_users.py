# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Which processes hold GPU device nodes open, on the host or in one of its containers.

Sources: /proc/<pid>/fd, /proc/<pid>/comm, /proc/<pid>/cgroup (Documentation/filesystems/proc.rst). A process that
holds a GPU's node uses that GPU; CUDA keeps the node open for as long as a context lives.
"""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import DENIED, Reading, ok
from .device_majors import read_majors

_NODE = re.compile(r"/dev/(nvidia\S*|kfd|dri/\S+)")
_RDMA_NODE = re.compile(r"/dev/infiniband/uverbs\d+")
_DRIVERS = ("nvidia", "kfd", "drm")
_NVIDIA_MAJOR = 195             # nv-chardev-numbers.h
_NVIDIA_GPU_MINORS = range(248)
_CAP_IPC_LOCK = 14              # include/uapi/linux/capability.h

# Sets a GPU up and keeps it so; no work of it is lost. The kernel cuts a command's name at 15 characters.
PERSISTENCED = "nvidia-persistenced"[:15]

_CONTAINER = (
    re.compile(r"/lxc(?:\.payload)?[./](?!monitor)([^/.\s]+)"),                 # Proxmox VE and plain LXC
    re.compile(r"(?:^|[/-])([0-9a-f]{12})[0-9a-f]{52}(?:\.scope)?(?:/|$)"),      # Docker, Podman, containerd, CRI-O
)


def parse_container(text: str) -> str | None:
    """The container of /proc/<pid>/cgroup: an LXC id, or the first 12 digits as `docker ps` prints them; None for none.

    One inside another is named by the outer one.
    """
    for pattern in _CONTAINER:
        for line in text.splitlines():
            found = pattern.search(line.split(":", 2)[-1])
            if found is not None:
                return found[1]
    return None


def read_users(host: Host) -> Reading:
    """The processes that hold GPU nodes: `[{pid, command, container, nodes, rdma}]` by pid; `container` is None on the
    host, `rdma` says whether a process holds an RDMA device's node too.

    Denied where a process's files may not be looked at, for then a GPU may be in use unseen. Kernel threads have no
    files. Nodes are the host's (`/dev/nvidia0`), also where a container calls them otherwise.
    """
    majors = read_majors(host)
    if majors.ok and not any(entry["name"].startswith(_DRIVERS) for entry in majors.value):
        return ok([])
    pids = host.read_list("/proc")
    if not pids.ok:
        return pids
    found, hidden = [], 0
    for pid in sorted(int(name) for name in pids.value if name.isdecimal()):
        files = host.read_links(f"/proc/{pid}/fd")
        if files.status == DENIED:
            hidden += 1
        nodes = {_node(host, pid, number, text) for number, text in (files.value or {}).items() if _NODE.match(text)}
        if nodes:
            found.append({**_user(host, pid, nodes), "rdma": any(map(_RDMA_NODE.match, files.value.values()))})
    if hidden:
        return Reading(DENIED, None, f"/proc/<pid>/fd of {hidden} processes may not be read: needs root")
    return ok(found)


def _user(host: Host, pid: int, nodes: set[str]) -> dict:
    return {"pid": pid, "command": host.read(f"/proc/{pid}/comm").value or "?",
            "container": parse_container(host.read(f"/proc/{pid}/cgroup").value or ""), "nodes": sorted(nodes)}


def _node(host: Host, pid: int, number: str, text: str) -> str:
    """The host's name of an open node: a container may have GPU 3 as its /dev/nvidia0."""
    node = host.device_node(f"/proc/{pid}/fd/{number}")
    if node is not None and node["major"] == _NVIDIA_MAJOR and node["minor"] in _NVIDIA_GPU_MINORS:
        return f"/dev/nvidia{node['minor']}"
    return text


def read_locking(host: Host, users: Reading) -> Reading:
    """How much memory each of `users` may lock: `[{pid, command, container, limit_bytes, exempt, rdma}]`.

    `limit_bytes` is the soft limit "Max locked memory" of /proc/<pid>/limits, None without one. `exempt`: it has
    CAP_IPC_LOCK in its effective set (CapEff of /proc/<pid>/status), which no limit binds (man 7 capabilities).
    Whoever has ended meanwhile is left out.
    """
    if not users.ok:
        return Reading(users.status, None, users.detail)
    found = []
    for user in users.value:
        limits = host.read(f"/proc/{user['pid']}/limits").map(parse_locked_limit)
        capable = host.read(f"/proc/{user['pid']}/status").map(parse_may_lock)
        if limits.ok and capable.ok:
            found.append({**{key: user[key] for key in ("pid", "command", "container")},
                          "limit_bytes": limits.value, "exempt": capable.value, "rdma": user["rdma"]})
    return ok(found)


def parse_locked_limit(text: str) -> int | None:
    """Bytes; None for unlimited. ValueError: there is no such line."""
    found = re.search(r"^Max locked memory +(\d+|unlimited) ", text, re.MULTILINE)
    if found is None:
        raise ValueError("no line Max locked memory")
    return None if found[1] == "unlimited" else int(found[1])


def parse_may_lock(text: str) -> bool:
    found = re.search(r"^CapEff:\s+([0-9a-f]+)$", text, re.MULTILINE)
    if found is None:
        raise ValueError("no line CapEff")
    return bool(int(found[1], 16) >> _CAP_IPC_LOCK & 1)


def nodes_of_gpu(host: Host, bdf: str, minor: int | None) -> list[str]:
    """The device nodes by which a GPU is used: /dev/nvidia<minor>, else what DRM made of it, /dev/dri/{card,renderD}N.

    `minor` is that of NVIDIA's driver. With it DRM's nodes do not count: logind holds them for any seat.
    """
    if minor is not None:
        return [f"/dev/nvidia{minor}"]
    return [f"/dev/dri/{name}" for name in host.list(f"/sys/bus/pci/devices/{bdf}/drm")
            if name.startswith(("card", "renderD"))]


def users_of(users: Reading, nodes: list[str]) -> Reading:
    """Who keeps a GPU busy: `[{pid, command, container}]` of those that hold one of its `nodes`, persistenced apart.

    /dev/kfd is one node for all AMD GPUs: the render node says which of them is meant.
    """
    if not users.ok:
        return Reading(users.status, None, users.detail)
    wanted = set(nodes)
    return ok([{key: user[key] for key in ("pid", "command", "container")} for user in users.value
               if wanted.intersection(user["nodes"]) and user["command"][:15] != PERSISTENCED])
