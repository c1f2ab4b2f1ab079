# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Handle signals in an Ansible worker while settings are changed: restore first, then do what the signal asks for.

ansible-playbook forwards SIGINT and SIGTERM to its workers, whose own handler ends them at once. A worker whose
ansible-playbook was killed gets no signal, so a thread watches for that. A setter that has begun is waited for: it ends
within seconds, and it must not write after the restore.
"""
from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOK_SECONDS = 1.0      # between checks whether ansible-playbook is still running


class Interrupted(BaseException):
    """A signal arrived. Not an Exception, so that error handling of a run does not catch it."""


class Interruptions:
    """A context manager that holds back signals; within let_through() they raise Interrupted."""

    def __init__(self) -> None:
        self.signal: int | None = None      # the first one received
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
        """Why the experiment was interrupted, None if no signal arrived."""
        if self.signal is None:
            return None
        if self._orphaned:
            return "interrupted: ansible-playbook was killed"
        return f"interrupted by {signal.Signals(self.signal).name}"

    @contextlib.contextmanager
    def let_through(self) -> Iterator[None]:
        """A signal that arrives in this block, or arrived before, raises Interrupted at once."""
        self._open = True
        try:
            if self.signal is not None:
                raise Interrupted
            yield
        finally:
            self._open = False

    def hand_on(self) -> None:
        """After the context: deliver the signal that was held back. Returns if there was none."""
        if self.signal is not None:
            os.kill(os.getpid(), self.signal)

    def end_children(self) -> None:
        """Terminate the child processes, for example a benchmark in the middle of a run."""
        if os.getpgrp() == os.getpid():     # our own process group, as a worker of Ansible has
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
    """The block did not end within its time limit."""


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise TimeLimitReached if the block takes longer. An alarm that was set before continues afterwards."""
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
