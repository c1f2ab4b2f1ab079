# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Read a pipe to its end without keeping all of it, and without waiting for other processes that hold it open."""
from __future__ import annotations

import threading
from collections import deque

_BLOCK = 1 << 16


class Drain(threading.Thread):
    """Keeps the first `head` bytes of a pipe and, if there are more, the last `tail` bytes.

    It is a thread, so that a grandchild that keeps the pipe open does not block the caller.
    """

    def __init__(self, pipe, head: int, tail: int = 0) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._room = head
        self._limit = tail
        self._head: list[bytes] = []
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.left_out = 0       # bytes between the two
        self.start()

    def run(self) -> None:
        for piece in iter(lambda: self._pipe.read1(_BLOCK), b""):
            if self._room:
                self._head.append(piece[:self._room])
                piece = piece[self._room:]
                self._room -= len(self._head[-1])
            if piece:
                self._keep_last(piece)

    def _keep_last(self, piece: bytes) -> None:
        self._tail.append(piece)
        self._tail_size += len(piece)
        while self._tail_size > self._limit:
            surplus = min(self._tail_size - self._limit, len(self._tail[0]))
            first = self._tail.popleft()
            if surplus < len(first):
                self._tail.appendleft(first[surplus:])
            self._tail_size -= surplus
            self.left_out += surplus

    def text(self, timeout: float) -> str:
        """The text received until the end of the pipe, or within `timeout` seconds from now."""
        self.join(timeout)
        head, tail = b"".join(self._head), b"".join(list(self._tail))
        if not self.left_out:
            return (head + tail).decode("utf-8", "replace")
        message = f"\n[... {self.left_out} bytes left out ...]\n" if self._limit else ""
        return head.decode("utf-8", "replace") + message + tail.decode("utf-8", "replace")
