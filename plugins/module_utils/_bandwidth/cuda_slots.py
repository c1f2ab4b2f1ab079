# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Every copy arrives in a place of its own, and every one of them is looked at.

A reading makes as many copies as there are places; behind it each place is compared with what was sent, byte by byte.
Runs in the measuring child: no import but the standard library and its siblings.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from .cuda_driver import Driver
from .cuda_pattern import find_difference

CLEARED = 0xA5A5A5A5            # what is where a copy is to arrive
_CLEARED_BYTE = 0xA5

_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes, _memcmp.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t), ctypes.c_int


class Place(NamedTuple):
    """Memory that copies come from or go to: of the host where `context` is None, else of that context's GPU."""

    address: int
    size: int
    context: int | None


class Tally:
    """What arrived of one way: how many copies were looked at, and what is wrong with those that are."""

    def __init__(self, name: str, label: str | None = None) -> None:
        self.name = name
        self.label = label or name      # what a person is told that waits for it
        self.copies = 0
        self.bytes = 0
        self.wrong: dict[str, dict[str, Any]] = {}

    def add(self, name: str, find: Callable[[], dict[str, int]]) -> None:
        """One more wrong copy; `name` says on which way it went wrong. What is wrong is found of the first one only, as
        that takes longer than all else: where every copy is wrong it would look like a hang."""
        if name not in self.wrong:
            self.wrong[name] = {"copied": name, **find(), "wrong_copies": 0}
        self.wrong[name]["wrong_copies"] += 1

    def found(self) -> list[dict[str, Any]]:
        """`[{copied, first_offset, wrong_bytes, bytes, wrong_copies, copies}]`, of each way the first wrong copy."""
        return [{**one, "copies": self.copies} for one in self.wrong.values()]


class Inspector:
    """Clears places, and compares what arrived in them with `pattern`, host memory that holds what was sent.

    `bounce` is host memory into which a copy is fetched, of at least the size of one.
    """

    def __init__(self, cuda: Driver, bounce: int) -> None:
        self._cuda = cuda
        self._bounce = bounce

    def clear(self, target: Place, size: int) -> None:
        """Of the first `size` bytes of a place. The context of the target is current afterwards."""
        if target.context is None:
            ctypes.memset(target.address, _CLEARED_BYTE, size)
            return
        self._cuda.call("cuCtxSetCurrent", target.context)
        self._cuda.call("cuMemsetD32_v2", target.address, CLEARED, size // 4)
        # What is copied next does not wait for the NULL stream, in which that happens.
        self._cuda.call("cuStreamSynchronize", None)

    def inspect(self, target: Place, pattern: int, size: int, copies: int, tally: Tally) -> None:
        """All of `copies` that lie one behind the other in a place. Leaves the context of the target current."""
        tally.copies += copies
        tally.bytes += copies * size
        if target.context is None:
            for number in range(copies):
                self._compare(target.address + number * size, pattern, size, tally.name, tally)
            return
        self._cuda.call("cuCtxSetCurrent", target.context)
        with self._cuda.stream() as stream:
            for number in range(copies):
                self._fetch(target.address + number * size, pattern, size, stream, tally)

    def _fetch(self, address: int, pattern: int, size: int, stream: int, tally: Tally) -> None:
        self._bring(address, size, stream)
        if _memcmp(self._bounce, pattern, size) == 0:
            return
        first = ctypes.create_string_buffer(ctypes.string_at(self._bounce, size), size)
        # What is right at the second look was corrupted on the restore from the GPU.
        self._bring(address, size, stream)
        arrived = _memcmp(self._bounce, pattern, size) != 0
        tally.add(tally.name if arrived else "d2h",
                  lambda: find_difference(ctypes.addressof(first), pattern, size))

    def _bring(self, address: int, size: int, stream: int) -> None:
        self._cuda.call("cuMemcpyDtoHAsync_v2", self._bounce, address, size, stream)
        self._cuda.call("cuStreamSynchronize", stream)

    @staticmethod
    def _compare(address: int, pattern: int, size: int, name: str, tally: Tally) -> None:
        if _memcmp(address, pattern, size) != 0:
            tally.add(name, lambda: find_difference(address, pattern, size))
