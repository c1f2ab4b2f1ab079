# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The CPUs that each thread of a process may run on, and what tells a process from a later one with the same number.

Sources: man 5 proc_pid_stat (flags are field 9, starttime field 22), Documentation/filesystems/proc.rst
(Cpus_allowed_list), include/linux/sched.h (PF_IO_WORKER, PF_NO_SETAFFINITY).
"""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import ABSENT, UNPARSABLE, Reading, ok
from .cpulist import format_cpulist, parse_cpulist

PF_IO_WORKER = 0x00000010
PF_NO_SETAFFINITY = 0x04000000
ROUNDS = 16         # listings of a process whose threads keep changing
THREAD_LIMIT = 16384

# The command in parentheses may contain anything, so the fields are counted from its last parenthesis.
_STARTTIME, _FLAGS = 22 - 3, 9 - 3
_CPUS = re.compile(r"^Cpus_allowed_list:\s*(\S+)$", re.MULTILINE)


def parse_started(text: str) -> int:
    """The start time in /proc/<pid>/stat, in clock ticks since boot."""
    return int(_fields(text)[_STARTTIME])


def is_settable(text: str) -> bool:
    """Whether the affinity of the thread with this /proc/<pid>/task/<tid>/stat belongs to its process.

    Not so for io_uring's workers, which the kernel creates and ends as it needs them (io_uring/io-wq.c): some versions
    give each its own CPUs, and refuse a change. Other threads with PF_NO_SETAFFINITY refuse it too.
    """
    return not int(_fields(text)[_FLAGS]) & (PF_IO_WORKER | PF_NO_SETAFFINITY)


def parse_allowed(text: str) -> str:
    """Cpus_allowed_list of /proc/<pid>/task/<tid>/status, normalised."""
    found = _CPUS.search(text)
    if found is None:
        raise ValueError("no line Cpus_allowed_list")
    return format_cpulist(parse_cpulist(found[1]))


def list_threads(host: Host, pid: int) -> Reading:
    """The thread numbers of a process, sorted; absent if it has ended."""
    names = host.read_list(f"/proc/{pid}/task")
    return names.map(lambda found: sorted(int(name) for name in found if name.isdecimal())[:THREAD_LIMIT])


def read_affinities(host: Host, pid: int) -> Reading:
    """`{thread: CPU list}` of a process. Its threads are listed again until two lists are equal.

    A thread that has ended is left out; if one cannot be read, the reading is not ok.
    """
    found: dict[int, str] = {}
    for _round in range(ROUNDS):
        threads = list_threads(host, pid)
        if not threads.ok:
            return threads
        new = [thread for thread in threads.value if thread not in found]
        read = _read_threads(host, pid, new)
        if not read.ok:
            return read
        found = {thread: cpus for thread, cpus in {**found, **read.value}.items() if thread in threads.value}
        if list_threads(host, pid).value == threads.value:
            settable = {thread: cpus for thread, cpus in found.items() if cpus is not None}
            return ok(settable) if settable else Reading(ABSENT, None, f"process {pid} has ended")
    return Reading(UNPARSABLE, None, f"the threads of process {pid} were listed {ROUNDS} times and never twice alike")


def _read_threads(host: Host, pid: int, threads: list[int]) -> Reading:
    """`{thread: CPU list}`; None for one whose affinity is not its process's."""
    texts = host.read_attributes(f"/proc/{pid}/task", [f"{thread}/{name}" for thread in threads
                                                       for name in ("stat", "status")])
    found: dict[int, str | None] = {}
    for thread in threads:
        settable = texts[f"{thread}/stat"].map(is_settable)
        allowed = texts[f"{thread}/status"].map(parse_allowed)
        failed = next((one for one in (settable, allowed) if not one.ok), None)
        if failed is None:
            found[thread] = allowed.value if settable.value else None
        elif failed.status != ABSENT and not _has_ended(failed):
            return Reading(failed.status, None, f"thread {thread} of process {pid}: {failed.detail}")
    return ok(found)


def _has_ended(reading: Reading) -> bool:
    """A file of /proc that was opened before its thread ended gives ESRCH."""
    return (reading.detail or "").startswith("ESRCH")


def _fields(text: str) -> list[str]:
    """The fields from the third on."""
    _command, parenthesis, rest = text.rpartition(")")
    fields = rest.split()
    if not parenthesis or len(fields) <= _STARTTIME:
        raise ValueError("not the status of a process")
    return fields
