# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Find the processes that hold GPU device nodes open, on the host or in a container.

Sources: /proc/<pid>/fd, /proc/<pid>/comm, /proc/<pid>/cgroup (Documentation/filesystems/proc.rst). A process that
holds a GPU's node open uses that GPU; CUDA keeps the node open for the lifetime of a context.
"""
from __future__ import annotations

import re

from .._host.asked import ask_each
from .._host.host import Host
from .._host.reading import ABSENT, DENIED, Reading, known, ok
from .containers import container_of
from .device_majors import read_majors

_NODE = re.compile(r"/dev/(nvidia\S*|kfd|dri/\S+)")
_RDMA_NODE = re.compile(r"/dev/infiniband/uverbs\d+")
_DRIVERS = ("nvidia", "kfd", "drm")
_NVIDIA_MAJOR = 195             # nv-chardev-numbers.h
_NVIDIA_GPU_MINORS = range(248)
_CAP_IPC_LOCK = 14              # include/uapi/linux/capability.h

# Keeps GPUs initialised and does no work on them. The kernel truncates a command's name to 15 characters.
_PERSISTENCED = "nvidia-persistenced"
_UNIT = re.compile(rf"^0::/system\.slice/{_PERSISTENCED}\.service$|"
                   rf"^\d+:(?:name=systemd|[\w,]+):/system\.slice/{_PERSISTENCED}\.service$", re.MULTILINE)


def read_users(host: Host) -> Reading:
    """Read the processes that hold GPU nodes open: `[{pid, command, container, nodes, rdma, persistenced}]` by pid.

    `container` is None on the host, `rdma` says whether a process also holds an RDMA device's node, `persistenced`
    whether it is NVIDIA's daemon.

    Denied if any process's files cannot be accessed, as a GPU may then be in use unseen. Kernel threads have no files.
    Nodes have the host's names (`/dev/nvidia0`), even if a container uses others.
    """
    return known(lambda: _read_users(host))


def _read_users(host: Host) -> Reading:
    majors = read_majors(host)
    if majors.ok and not any(entry["name"].startswith(_DRIVERS) for entry in majors.value):
        return ok([])
    pids = host.read_list("/proc")
    if not pids.ok:
        return pids
    opened, hidden = {}, 0
    for pid in sorted(int(name) for name in pids.value if name.isdecimal()):
        files = host.read_links(f"/proc/{pid}/fd")
        hidden += files.status == DENIED
        if any(map(_NODE.match, (files.value or {}).values())):
            opened[pid] = files.value
    if hidden:
        return Reading(DENIED, None, f"/proc/<pid>/fd of {hidden} processes is not readable: needs root")
    minors = _read_minors(host, opened)
    return ok([_user(host, pid, files, minors) for pid, files in opened.items()])


def _user(host: Host, pid: int, files: dict[str, str], minors: dict[str, int]) -> dict:
    command = host.read(f"/proc/{pid}/comm").value or "?"
    cgroup = host.read(f"/proc/{pid}/cgroup").value or ""
    nodes = {f"/dev/nvidia{minors[f'{pid}/{number}']}" if f"{pid}/{number}" in minors else text
             for number, text in files.items() if _NODE.match(text)}
    return {"pid": pid, "command": command, "container": container_of(host, cgroup), "nodes": sorted(nodes),
            "rdma": any(map(_RDMA_NODE.match, files.values())),
            "persistenced": command[:15] == _PERSISTENCED[:15] and is_persistenced(host, pid, cgroup)}


def is_persistenced(host: Host, pid: int, cgroup: str) -> bool:
    """Whether a process is NVIDIA's persistence daemon: run from root's file, in its unit's control group.

    Any process may take that name, but only root can put one into that group.
    """
    if not _UNIT.search(cgroup):
        return False
    program = host.read_link(f"/proc/{pid}/exe")
    if program.status == ABSENT and not host.live:
        return True         # a recording made before this was recorded
    name = (program.value or "").removesuffix(" (deleted)").rpartition("/")[2]
    if name != _PERSISTENCED:
        return False
    owner = ask_each(host, ["exe"], lambda _name: [host.owner(f"/proc/{pid}/exe")])["exe"] if host.live else [0]
    return owner == [0]


def _read_minors(host: Host, opened: dict[int, dict[str, str]]) -> dict[str, int]:
    """Read `{pid/descriptor: minor}` of the open GPU nodes: a container may have GPU 3 as its /dev/nvidia0.

    A container's /dev/nvidia0 may be a file of its own that blocks forever, so a child process does the stat(2).
    """
    asked = [f"{pid}/{number}" for pid, files in opened.items() for number, text in files.items() if _NODE.match(text)]

    def look(name: str) -> list:
        pid, _slash, number = name.partition("/")
        node = host.device_node(f"/proc/{pid}/fd/{number}")
        gpu = node is not None and node["major"] == _NVIDIA_MAJOR and node["minor"] in _NVIDIA_GPU_MINORS
        return [node["minor"] if gpu else None]

    # Files of a recording do not block.
    answers = ask_each(host, asked, look) if host.live else {name: look(name) for name in asked}
    return {name: answer[0] for name, answer in answers.items() if isinstance(answer, list) and answer[0] is not None}


def read_locking(host: Host, users: Reading) -> Reading:
    """Read how much memory each of `users` may lock: `[{pid, command, container, limit_bytes, exempt, rdma}]`.

    `limit_bytes` is the soft limit "Max locked memory" of /proc/<pid>/limits, None if unlimited. `exempt`: it has
    CAP_IPC_LOCK in its effective set (CapEff of /proc/<pid>/status), which lifts the limit (man 7 capabilities).
    Processes that have ended are left out.
    """
    return known(lambda: _read_locking(host, users)) if users.ok else Reading(users.status, None, users.detail)


def _read_locking(host: Host, users: Reading) -> Reading:
    found = []
    for user in users.value:
        limits = host.read(f"/proc/{user['pid']}/limits").map(parse_locked_limit).told()
        capable = host.read(f"/proc/{user['pid']}/status").map(parse_may_lock).told()
        if limits.ok and capable.ok:
            found.append({**{key: user[key] for key in ("pid", "command", "container")},
                          "limit_bytes": limits.value, "exempt": capable.value, "rdma": user["rdma"]})
    return ok(found)


def parse_locked_limit(text: str) -> int | None:
    """Return the limit in bytes, None for unlimited. ValueError: there is no such line."""
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
    """Return the device nodes of a GPU: /dev/nvidia<minor>, else its DRM nodes /dev/dri/{card,renderD}N.

    `minor` is that of NVIDIA's driver. If there is one, DRM nodes do not count: logind holds them for any seat.
    """
    if minor is not None:
        return [f"/dev/nvidia{minor}"]
    return [f"/dev/dri/{name}" for name in host.list(f"/sys/bus/pci/devices/{bdf}/drm")
            if name.startswith(("card", "renderD"))]


def users_of(users: Reading, nodes: list[str]) -> Reading:
    """Return the processes that hold one of a GPU's `nodes`, except persistenced: `[{pid, command, container}]`.

    /dev/kfd is shared by all AMD GPUs; the render node identifies the GPU.
    """
    if not users.ok:
        return Reading(users.status, None, users.detail)
    wanted = set(nodes)
    return ok([{key: user[key] for key in ("pid", "command", "container")} for user in users.value
               if wanted.intersection(user["nodes"]) and not user["persistenced"]])
