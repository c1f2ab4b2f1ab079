# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The CPUs of a running guest of Proxmox VE by `vm:ID` or `lxc:ID`: valid names, the guest's process, the only reader.

A VM: the affinity of every thread of its QEMU. A container: `cpuset.cpus` of its own control group lxc/ID and of
lxc/ID/ns, where its processes are (lxc.cgroup.dir.container and .inner; pve-container, PVE/LXC.pm,
update_lxc_config()).
"""
from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from .._host.host import Host
from .._host.reading import ABSENT, DENIED, Reading, known, ok
from .._kernel.threads import parse_started, read_affinities
from .._pve.guest_state import read_running_containers, read_unified, read_vm_pid, read_vm_running
from .cpu_text import INNER, NONE, make, parse_value

__all__ = ("check_name", "find_process", "group_of", "parse_value", "read", "split")

VM, CONTAINER = "vm", "lxc"
ROOT = "/sys/fs/cgroup"
_FOLDERS = {VM: "qemu-server", CONTAINER: "lxc"}
_NAME = re.compile(r"(vm|lxc):([1-9][0-9]{2,8})", re.ASCII)     # VMIDs are 100 to 999999999 (PVE/JSONSchema.pm)
_GROUPS_LIMIT = 512     # control groups of a container that are looked through for its first process
_INIT = re.compile(r"^NSpid:\s+\d+\s+1$", re.MULTILINE)


class Process(NamedTuple):
    """A VM's QEMU, or the first process of a container; `started` in clock ticks since boot."""

    number: str     # of the guest
    pid: int
    started: int

    def identity(self) -> str:
        """`vmid 200 pid 4711 starttime 123456`: the guest between this start and its end."""
        return f"vmid {self.number} pid {self.pid} starttime {self.started}"


def check_name(name: Any) -> None:
    """Raise ValueError for anything but a guest."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a guest of Proxmox VE, such as vm:200 or lxc:101")


def split(name: str) -> tuple[str, str]:
    """`vm:200` as ("vm", "200")."""
    kind, _colon, number = name.partition(":")
    return kind, number


def is_at_memory(memory: Mapping[int, float], nodes: Collection[int]) -> bool:
    """Whether a guest may get CPUs on these NUMA nodes: together they hold more than half of its memory, and each of
    them at least half an even share of it. `memory` is by node, in any unit."""
    total = sum(memory.values())
    held = [memory.get(node, 0) for node in nodes]
    return sum(held) * 2 > total and all(size * 2 * len(held) >= total for size in held)


def how_to_keep(name: str, cpus: str) -> str:
    """How a guest gets these CPUs at each start, for they are never persisted: they belong to its running process."""
    kind, number = split(name)
    general = cpus.partition(" ")[0]
    setting = f"qm set {number} --affinity {general}" if kind == VM else \
        f"the line lxc.cgroup2.cpuset.cpus: {general} in /etc/pve/lxc/{number}.conf"
    return f"the CPUs of a running guest end with it and are not persisted; at each start it gets them by {setting}"


def group_of(number: str) -> str:
    """A container's own control group. Its monitor is elsewhere, in lxc.monitor/ID."""
    return f"{ROOT}/lxc/{number}"


def read(host: Host, name: str) -> Reading:
    """Read the CPUs as a text of cpu_text; absent if the guest does not run here, denied for a control group that is a
    link."""
    return known(lambda: _read(host, name))


def _read(host: Host, name: str) -> Reading:
    process = find_process(host, name)
    if not process.ok:
        return process
    kind, number = split(name)
    return read_container(host, number) if kind == CONTAINER else read_threads(host, process.value.pid)


def read_threads(host: Host, pid: int) -> Reading:
    """The CPUs of all threads of a process, those of its main thread first."""
    threads = read_affinities(host, pid)
    return threads.map(lambda found: make(found.get(pid) or found[min(found)], {
        str(thread): cpus for thread, cpus in found.items()}).text())


def read_container(host: Host, number: str) -> Reading:
    """`cpuset.cpus` of lxc/ID, and of lxc/ID/ns if that has a list of its own."""
    group = group_of(number)
    link = next((path for path in (f"{ROOT}/lxc", group, f"{group}/{INNER}", f"{group}/cpuset.cpus",
                                   f"{group}/{INNER}/cpuset.cpus") if host.read_link(path).ok), None)
    if link is not None:
        return Reading(DENIED, None, f"{link} is a link, not the container's own control group")
    outer, inner = (host.read(f"{path}/cpuset.cpus").map(lambda text: parse_value(text) if text.strip() else NONE)
                    for path in (group, f"{group}/{INNER}"))
    if outer.status == ABSENT:
        return Reading(ABSENT, None, f"{group}/cpuset.cpus does not exist: the controller cpuset is not enabled")
    if not outer.ok or (not inner.ok and inner.status != ABSENT):
        return inner if outer.ok else outer
    return ok(make(outer.value, {INNER: inner.value} if inner.ok and inner.value != NONE else {}).text())


def find_process(host: Host, name: str) -> Reading:
    """The Process of a running guest; absent with the reason if it does not run on this node."""
    return known(lambda: _find_process(host, name))


def _find_process(host: Host, name: str) -> Reading:
    kind, number = split(name)
    if read_unified(host) is not True:
        return Reading(ABSENT, None, "only hosts with the unified control group hierarchy (cgroup v2) are supported")
    running = read_vm_running(host, number) if kind == VM else number in (read_running_containers(host).value or ())
    if not running:
        return Reading(ABSENT, None, _why_absent(host, kind, number))
    pid = read_vm_pid(host, number) if kind == VM else _find_init(host, number)
    if not pid.ok:
        return pid
    return host.read(f"/proc/{pid.value}/stat").map(lambda text: Process(number, pid.value, parse_started(text)))


def why_expired(host: Host, name: str, identity: str | None) -> str | None:
    """Why what was set is gone: the process that had `identity` has ended; None if it runs, or if that is unknown."""
    found = find_process(host, name)
    if found.ok:
        same = found.value.identity() == identity
        return None if same else f"the guest was restarted since: found {found.value.identity()}, it was {identity}"
    return f"the guest has stopped: {found.detail}" if found.status == ABSENT else None


def _why_absent(host: Host, kind: str, number: str) -> str:
    noun, folder = "VM" if kind == VM else "container", _FOLDERS[kind]
    if not host.exists("/etc/pve"):
        return "there is no /etc/pve: this is not a Proxmox VE node"
    if not any(host.exists(f"/etc/pve{part}/{folder}/{number}.conf") for part in ("/local", "")):
        return f"this node has no {noun} {number} (/etc/pve/{folder}/{number}.conf)"
    return f"{noun} {number} is not running"


def _find_init(host: Host, number: str) -> Reading:
    """The first process of a container: number 1 in a PID namespace directly below the host's (man 5 proc, NSpid).

    It is in the group ns, or where its init has moved itself (init.scope).
    """
    waiting, seen = [group_of(number)], 0
    while waiting and seen < _GROUPS_LIMIT:
        group, seen = waiting.pop(0), seen + 1
        for pid in (host.read(f"{group}/cgroup.procs").value or "").split():
            if pid.isdecimal() and _INIT.search(host.read(f"/proc/{pid}/status").value or ""):
                return ok(int(pid))
        waiting += [f"{group}/{name}" for name in host.list(group) if host.is_dir(f"{group}/{name}")]
    return Reading(ABSENT, None, f"container {number} has no first process in {group_of(number)}")
