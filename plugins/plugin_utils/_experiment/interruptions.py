# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Signals in a worker of Ansible while a host is not as it was found: first the restore, then what the signal asks.

ansible-playbook hands SIGINT and SIGTERM on to its workers, whose own handler ends them at once. A worker whose
ansible-playbook was killed hears nothing, so a thread looks for that. A setter that was begun is waited for: it ends
within seconds, and what it is about to write must not come after the restore.
"""
from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOK_SECONDS = 1.0      # between two looks at whether ansible-playbook still is


class Interrupted(BaseException):
    """A signal came. Not an Exception: what handles the errors of a run must not take it for one."""


class Interruptions:
    """A context manager that holds back signals; where they are let through, they raise Interrupted."""

    def __init__(self) -> None:
        self.signal: int | None = None      # the first that came
        self._open = False
        self._earlier: dict[int, object] = {}
        self._over = threading.Event()
        self._parent = os.getppid()
        self._orphaned = False

    def __enter__(self) -> Interruptions:
        self._earlier = {number: signal.signal(number, self._note) for number in SIGNALS}
        threading.Thread(target=self._look_for_parent, daemon=True).start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._over.set()
        for number, handler in self._earlier.items():
            signal.signal(number, handler)

    @property
    def message(self) -> str | None:
        """What ended the experiment, None where no signal came."""
        if self.signal is None:
            return None
        if self._orphaned:
            return "interrupted: ansible-playbook was killed"
        return f"interrupted by {signal.Signals(self.signal).name}"

    @contextlib.contextmanager
    def let_through(self) -> Iterator[None]:
        """A signal that comes in here, or came before, raises Interrupted at once."""
        self._open = True
        try:
            if self.signal is not None:
                raise Interrupted
            yield
        finally:
            self._open = False

    def hand_on(self) -> None:
        """Behind the context: what the signal asked for in the first place. Comes back where none came."""
        if self.signal is not None:
            os.kill(os.getpid(), self.signal)

    def end_children(self) -> None:
        """Ask the processes that this one started to end: a benchmark in the middle of a run, for example."""
        if os.getpgrp() == os.getpid():     # a group of our own, which a worker of Ansible has
            os.killpg(os.getpid(), signal.SIGTERM)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is None:
            self.signal = number
        if self._open:
            self._open = False
            raise Interrupted

    def _look_for_parent(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            if os.getppid() != self._parent:
                self._orphaned = self.signal is None
                os.kill(os.getpid(), signal.SIGTERM)
                return


class TimeLimitReached(Exception):
    """What was to be done within a time was not."""


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raises OutOfTime where the block takes longer. An alarm that was set before continues behind it."""
    def ring(_number: int, _frame: FrameType | None) -> None:
        raise TimeLimitReached

    earlier = signal.signal(signal.SIGALRM, ring)
    remaining = signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, earlier)
        if remaining:
            signal.alarm(remaining)
