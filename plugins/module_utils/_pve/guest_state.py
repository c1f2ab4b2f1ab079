# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Which guests of a Proxmox VE node are running, determined without running a program."""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import ABSENT, Reading, ok

_COMMAND_SOCKET = re.compile(r"@/var/lib/lxc/(\d+)/command$", re.MULTILINE)

# cgroup v2 first, then the systemd hierarchy and one more of cgroup v1.
_CGROUP_FOLDERS = ("/sys/fs/cgroup/lxc", "/sys/fs/cgroup/systemd/lxc", "/sys/fs/cgroup/devices/lxc")
_PID_FOLDERS = ("/run/qemu-server", "/var/run/qemu-server")


def parse_command_sockets(text: str) -> set[str]:
    """Ids of containers with a command socket in /proc/net/unix, as in list_active_containers() of PVE/LXC.pm."""
    return set(_COMMAND_SOCKET.findall(text))


def read_running_containers(host: Host) -> Reading:
    """Ids of the running containers; absent if neither sockets nor cgroups can be read.

    Raises NotRecorded.
    """
    sockets = host.read("/proc/net/unix").map(parse_command_sockets)
    groups = host.read_list("/sys/fs/cgroup")
    if not sockets.ok and not groups.told().ok:
        return Reading(ABSENT, None, "neither /proc/net/unix nor /sys/fs/cgroup can be read")
    folders = [(folder, names.value) for folder in _CGROUP_FOLDERS for names in (host.read_list(folder).told(),)
               if names.ok]
    if not folders:
        return ok(set(sockets.value or ()))
    # Any user may listen on a socket of that name; only root can create cgroups there.
    return ok({name for folder, names in folders for name in names
               if name.isdecimal() and _populated(host, f"{folder}/{name}")})


def _populated(host: Host, group: str) -> bool:
    """Whether a cgroup has processes; cgroup v1 does not say, so there the existing folder counts."""
    events = host.read(f"{group}/cgroup.events").told()
    return not events.ok or "populated 0" not in events.value


def read_unified(host: Host) -> bool | None:
    """Whether the host has only the unified hierarchy (cgroup v2); None if cgroups cannot be read."""
    names = host.list("/sys/fs/cgroup")
    return "cgroup.controllers" in names if names else None


def read_vm_running(host: Host, number: str) -> bool | None:
    """Whether a VM runs: the process in its pid file exists and belongs to that VM. None if that cannot be read."""
    pid = read_vm_pid(host, number)
    if pid.status == ABSENT:
        return False
    return _is_vm(host, pid.value, number) if pid.ok else None


def read_vm_pid(host: Host, number: str) -> Reading:
    """The process id in a VM's pid file; absent if there is no such file."""
    for folder in _PID_FOLDERS:
        pid = host.read_int(f"{folder}/{number}.pid")
        if pid.status != ABSENT:
            return pid
    return Reading(ABSENT, None, f"there is no {_PID_FOLDERS[0]}/{number}.pid")


def _is_vm(host: Host, pid: int, number: str) -> bool:
    words = (host.read(f"/proc/{pid}/cmdline").value or "").split("\0")
    if words == [""]:       # not readable: the existing process has to do
        return host.is_dir(f"/proc/{pid}")
    return any(word.endswith(f"/qemu-server/{number}.pid") for word in words) or \
        any(pair == ("-id", number) for pair in zip(words, words[1:]))
