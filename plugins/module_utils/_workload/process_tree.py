# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The process tree of a program, read from /proc, to end all of it and to report what remains."""
from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from .._host.host import Host

# man 5 proc_pid_stat: the name may contain blanks and brackets; starttime is field 22, in ticks since boot.
_STAT = re.compile(r"(\d+) \((.*)\) (\S) (\d+) (\d+) (\d+) " + r"\S+ " * 15 + r"(\d+)", re.DOTALL)


class Process(NamedTuple):
    pid: int
    command: str
    state: str
    parent: int
    group: int
    session: int
    started: int

    @property
    def alive(self) -> bool:
        return self.state not in ("Z", "X")

    def told(self) -> dict:
        return {"pid": self.pid, "command": self.command}


def parse_stat(text: str) -> Process:
    """Parse /proc/<pid>/stat. ValueError for other text."""
    found = _STAT.match(text)
    if found is None:
        raise ValueError("not the status of a process")
    return Process(int(found[1]), found[2], found[3], *map(int, found.groups()[3:]))


def read_family(host: Host, leader: int) -> list[Process]:
    """The live descendants of `leader` and live members of its session, including `leader`.

    A process that created its own session and has lost its parent is not found.
    """
    readings = (host.read(f"/proc/{name}/stat").map(parse_stat) for name in host.list("/proc") if name.isdecimal())
    processes = [reading.value for reading in readings if reading.ok]
    children: dict[int, list[Process]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    found = {process.pid: process for process in processes if leader in (process.pid, process.session)}
    waiting = [leader, *found]
    while waiting:
        for process in children.get(waiting.pop(), []):
            if process.pid not in found:
                found[process.pid] = process
                waiting.append(process.pid)
    return [process for process in found.values() if process.alive]


def still_alive(host: Host, processes: Iterable[Process]) -> list[Process]:
    """The processes that have not ended yet; a pid that was reused by another process counts as ended."""
    found = []
    for process in processes:
        now = host.read(f"/proc/{process.pid}/stat").map(parse_stat)
        if now.ok and now.value.started == process.started and now.value.alive:
            found.append(process)
    return found


def send(host: Host, processes: Iterable[Process], number: int) -> None:
    """Send the signal `number` to each process that is still alive."""
    for process in still_alive(host, processes):
        with contextlib.suppress(OSError):
            os.kill(process.pid, number)
