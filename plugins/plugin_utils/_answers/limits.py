# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Time and memory limits of a worker: time until a host has answered, memory to process the answer."""
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
    """The time limit has passed. Not an Exception, so that code waiting for a host does not handle it as an error."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime after `seconds` and terminate the child processes; 0 is no limit.

    Signals reach only the main thread of a process, and an Ansible worker has no other; if a task has its own time
    limit (the keyword `timeout`), that one applies.
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
    """Send SIGTERM to the programs that this process waits for, such as ssh. Only Linux lists them."""
    with contextlib.suppress(OSError, ValueError):
        with open(_CHILDREN.format(threading.get_native_id()), encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
        for child in children:
            os.kill(child, signal.SIGTERM)


@contextlib.contextmanager
def memory_limit(further: int = MEMORY_BYTES) -> Iterator[None]:
    """Let this process allocate `further` more bytes; beyond that it gets a MemoryError. Enforced only on Linux."""
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
    """Size of this process' address space in bytes, None if the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return None
