# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What one task may cost a worker: time until a host has answered, and memory for what is made of the answer."""
from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
from collections.abc import Iterator
from typing import Any

from .bounds import MEMORY_BYTES

_CHILDREN = "/proc/self/task/{}/children"


class OutOfTime(BaseException):
    """The time is over. No Exception, lest what waits for a host takes it for an error of its own."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises OutOfTime after `seconds`, and ends what this process started. 0 is no limit.

    Signals reach the main thread of a process alone, and an Ansible worker has no other; where a task has a time
    limit of its own (the keyword `timeout`), that one counts.
    """
    busy = signal.getitimer(signal.ITIMER_REAL)[0] > 0 or threading.current_thread() is not threading.main_thread()
    if seconds <= 0 or busy:
        yield
        return
    before = signal.signal(signal.SIGALRM, _over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except OutOfTime:
        _end_children()
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _over(_number: int, _frame: Any) -> None:
    raise OutOfTime


def _end_children() -> None:
    """Ask the programs that this process waits for, ssh and its like, to end. Only Linux tells who they are."""
    with contextlib.suppress(OSError, ValueError):
        with open(_CHILDREN.format(threading.get_native_id()), encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
        for child in children:
            os.kill(child, signal.SIGTERM)


@contextlib.contextmanager
def memory_limit(further: int = MEMORY_BYTES) -> Iterator[None]:
    """Let this process take `further` bytes and no more: what needs them raises MemoryError. Only Linux holds to it."""
    taken = _address_space()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = taken + further if taken is not None else resource.RLIM_INFINITY
    if taken is None or (resource.RLIM_INFINITY not in (soft, hard) and soft <= wanted):
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int | None:
    """Bytes of this process' address space, None where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return None
