# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The kind `guest_affinity`: the CPUs of a running VM or container of Proxmox VE.

A VM is moved by sched_setaffinity(2) of every thread of its QEMU, a container by `cpuset.cpus` of its own control
group. Threads that somebody pinned individually are recorded and restored individually.
"""
from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable
from typing import Any

from .._change.baseline import list_baselines, pair_lines
from .._change.journal import read_journal
from .._change.moment import BOOT_ID
from .._change.text_file import write_obstacle
from .._change.tunable import KERNEL_DECIDES, SKIPPED, Kind, Refused, Tunable, expected_error
from .._host.host import Host
from .._host.reading import Reading
from .._kernel.cpulist import parse_cpulist
from .._kernel.threads import ROUNDS, list_threads, read_affinities
from .._pve import guests as pve_guests
from .._tunables import cpu_text
from .._tunables.cpu_text import INNER, NONE, Cpus, cpus_of
from .._tunables.guest_affinity import CONTAINER, VM, Process, check_name, find_process, group_of, read, split
from .._tunables.kinds import KINDS
from .._tunables.wanted import Wanted
from .guest_affinity_rules import CPU, require_allowed

SetAffinity = Callable[[int, Iterable[int]], None]      # os.sched_setaffinity


class GuestAffinity(Tunable):
    """The CPUs of one guest, and the process that distinguishes it from the same guest after a restart."""

    bearer = "process"

    def __init__(self, host: Host, name: str) -> None:
        self.host = host
        self.name = name
        self.address = f"guest_affinity:{name}"
        self.number = split(name)[1]
        self.process: Process | None = None     # at the last read

    def read(self) -> Reading:
        found = find_process(self.host, self.name)
        self.process = found.value if found.ok else None
        return read(self.host, self.name)

    def identity(self) -> str | None:
        return None if self.process is None else self.process.identity()

    def predict(self, now: str, target: str, peers: dict[str, Any]) -> str:
        parsed = cpu_text.parse(target)
        wanted = set().union(*map(cpus_of, (parsed.general, *parsed.apart.values())))
        try:
            require_allowed(self.host, self.name, self.process.pid, wanted)
        except Refused as why:
            if not (why.but_back and self._was_there(target)):
                raise
        self.require_writable()
        return KERNEL_DECIDES

    def _was_there(self, target: str) -> bool:
        """Whether this process had these CPUs before a run changed them: the snapshot of a module's call."""
        writes = pair_lines(read_journal(self.host).value or [])
        return any((one["address"], one["identity"], one["before"]) == (self.address, self.identity(), target)
                   for one in list_baselines(writes, self.host.read(BOOT_ID).value))

    def require_writable(self) -> None:
        """Raises Refused if a write is known to fail."""
        raise NotImplementedError

    def write(self, value: str) -> None:
        found = find_process(self.host, self.name)
        if not found.ok or found.value != self.process:
            now = found.value.identity() if found.ok else found.detail
            raise Refused(f"another {self.bearer}: found {now}, a moment ago {self.identity()}")
        self.set(cpu_text.parse(value))

    def set(self, wanted: Cpus) -> None:
        raise NotImplementedError


class VmThreads(GuestAffinity):
    """The affinity of every thread of a QEMU."""

    def __init__(self, host: Host, name: str, set_affinity: SetAffinity | None) -> None:
        super().__init__(host, name)
        self._set_affinity = set_affinity
        self._threads: list[str] = []           # at the last read
        self._written: str | None = None

    def read(self) -> Reading:
        reading = super().read()
        pid = None if self.process is None else self.process.pid
        self._threads = [str(thread) for thread in list_threads(self.host, pid).value or ()] if pid else []
        return reading

    def same(self, one: Any, other: Any) -> bool:
        """Whether every thread that still exists has the same CPUs.

        Of a list that was written, the kernel may drop CPUs that are offline: a restore can meet such ones.
        """
        if one is None or other is None:
            return one == other
        first, second = cpu_text.parse(one), cpu_text.parse(other)
        alike = self._alike_online if self._written in (one, other) else str.__eq__
        return all(alike(first.of(thread), second.of(thread))
                   for thread in self._threads or [*first.apart, *second.apart, ""])

    def half_written(self, before: Any, wanted: Any, found: Any) -> bool:
        old, new, now = map(cpu_text.parse, (before, wanted, found))
        return all(now.of(thread) in (old.of(thread), new.of(thread)) for thread in self._threads)

    def _alike_online(self, one: str, other: str) -> bool:
        if one == other:
            return True
        online = set(self.host.read(f"{CPU}/online").map(parse_cpulist).value or ())
        return cpus_of(one) & online == cpus_of(other) & online != set()

    def require_writable(self) -> None:
        if self._set_affinity is None:
            raise Refused("needs a live host", outcome=SKIPPED)
        if self.host.live and os.geteuid() != 0:
            raise expected_error(errno.EPERM, "only root may move the threads of another user")

    def set(self, wanted: Cpus) -> None:
        """Move every thread. New ones appear meanwhile, so they are read again until all are where they should be."""
        pid, self._written = self.process.pid, wanted.text()
        for _round in range(ROUNDS):
            threads = read_affinities(self.host, pid)
            if not threads.ok:
                raise Refused(f"{threads.status}: {threads.detail}")
            left = [thread for thread, cpus in threads.value.items()
                    if not self._alike_online(cpus, wanted.of(str(thread)))]
            if not left:
                self._move_workers(set(threads.value), wanted)
                return
            for thread in left:
                self._move(thread, cpus_of(wanted.of(str(thread))))
        raise Refused(f"after {ROUNDS} rounds there are still threads on other CPUs: {', '.join(map(str, left[:8]))}")

    def _move_workers(self, moved: set[int], wanted: Cpus) -> None:
        """Move io_uring's workers that are busy now, where the kernel allows it; those to come inherit the CPUs."""
        for thread in set(list_threads(self.host, self.process.pid).value or ()) - moved:
            with contextlib.suppress(OSError):
                self._set_affinity(thread, cpus_of(wanted.general))

    def _move(self, thread: int, cpus: set[int]) -> None:
        try:
            self._set_affinity(thread, cpus)
        except ProcessLookupError:
            pass        # it has ended


class ContainerCpuset(GuestAffinity):
    """`cpuset.cpus` of a container's control group lxc/ID, together with that of the group inside it if it has a list.

    A list cannot be removed while a process is in the group or below it: ENOSPC (kernel/cgroup/cpuset.c,
    validate_change()). So no list is written where there is none, because it could not be restored.
    """

    def predict(self, now: str, target: str, peers: dict[str, Any]) -> str:
        old, new = cpu_text.parse(now), cpu_text.parse(target)
        if new.general == NONE:
            raise expected_error(errno.ENOSPC, "the list of a control group cannot be removed while the guest runs")
        certainty = super().predict(now, target, peers)
        if old.general == NONE or (INNER in new.apart and not self._has_list(INNER)):
            group = "control group" if old.general == NONE else f"control group {INNER}"
            raise Refused(f"its {group} has no list of CPUs, and one could not be removed again while the guest runs")
        return certainty

    def same(self, one: Any, other: Any) -> bool:
        """Whether both groups have the same CPUs."""
        return one == other if one is None or other is None else cpu_text.parse(one) == cpu_text.parse(other)

    def half_written(self, before: Any, wanted: Any, found: Any) -> bool:
        old, new, now = map(cpu_text.parse, (before, wanted, found))
        return all(now.of(name) in (old.of(name), new.of(name)) for name in ("", INNER))

    def _paths(self) -> dict[str, str]:
        group = group_of(self.number)
        paths = {"": f"{group}/cpuset.cpus", INNER: f"{group}/{INNER}/cpuset.cpus"}
        return {name: path for name, path in paths.items() if name == "" or self.host.exists(path)}

    def require_writable(self) -> None:
        for path in self._paths().values():
            obstacle = write_obstacle(self.host, path)
            if obstacle is not None:
                raise obstacle

    def _has_list(self, name: str) -> bool:
        return name in self._paths() and self.host.read(self._paths()[name]).value != ""

    def set(self, wanted: Cpus) -> None:
        for name, path in self._paths().items():
            if self._has_list(name) and self.host.read(path).value != wanted.of(name):
                self.host.write(path, f"{wanted.of(name)}\n")


class GuestAffinityKind(Kind):
    name = "guest_affinity"

    def __init__(self, host: Host, set_affinity: SetAffinity | None = None) -> None:
        self.host = host
        self.set_affinity = set_affinity or (os.sched_setaffinity if host.live else None)

    def parse(self, name: str, spec: Any) -> Wanted:
        wanted = KINDS[self.name].parse(name, spec)
        parsed = cpu_text.parse(wanted.value)
        if split(name)[0] == CONTAINER and set(parsed.apart) - {INNER}:
            raise ValueError(f"{wanted.value!r} names threads: they are moved in VMs only")
        if split(name)[0] != CONTAINER and (INNER in parsed.apart or parsed.general == NONE):
            raise ValueError(f"{wanted.value!r} is for containers: name the CPUs of the VM")
        return wanted

    def find(self, name: str) -> list[Tunable]:
        check_name(name)
        if split(name)[0] == CONTAINER:
            return [ContainerCpuset(self.host, name)]
        return [VmThreads(self.host, name, self.set_affinity)]


def running_guests(host: Host) -> list[str]:
    """The running guests of this node, containers first; none on a host without Proxmox VE."""
    guests = pve_guests.read(host)
    return [f"{kind}:{guest['id']}" for kind, part in ((CONTAINER, guests["containers"]), (VM, guests["vms"]))
            for guest in part.value or [] if guest["running"]]
