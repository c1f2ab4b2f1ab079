# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Verification of copies: each copy goes to its own slot, and every slot is compared.

A reading makes as many copies as there are slots; afterwards each slot is compared byte by byte with what was sent.
Runs in the measuring child: imports only the standard library and its siblings.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from .cuda_driver import Driver
from .cuda_pattern import find_difference

CLEARED = 0xA5A5A5A5            # content of a slot before a copy arrives
_CLEARED_BYTE = 0xA5

_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes, _memcmp.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t), ctypes.c_int


class Place(NamedTuple):
    """Source or destination memory: of the host if `context` is None, else of that context's GPU."""

    address: int
    size: int
    context: int | None


class Tally:
    """Verification results of one way: the number of copies checked, and the differences found."""

    def __init__(self, name: str, label: str | None = None) -> None:
        self.name = name
        self.label = label or name      # shown to the user while it is measured
        self.copies = 0
        self.bytes = 0
        self.wrong: dict[str, dict[str, Any]] = {}

    def add(self, name: str, find: Callable[[], dict[str, int]]) -> None:
        """Count a wrong copy; `name` is the direction in which it was corrupted. Only the first one is analysed: that
        is slow, and if every copy were wrong it would look like a hang."""
        if name not in self.wrong:
            self.wrong[name] = {"copied": name, **find(), "wrong_copies": 0}
        self.wrong[name]["wrong_copies"] += 1

    def found(self) -> list[dict[str, Any]]:
        """`[{copied, first_offset, wrong_bytes, bytes, wrong_copies, copies}]`: the first wrong copy per direction."""
        return [{**one, "copies": self.copies} for one in self.wrong.values()]


class Inspector:
    """Clears slots, and compares what arrived in them with `pattern`, host memory that holds what was sent.

    `bounce` is host memory, at least as large as one copy, into which copies are fetched.
    """

    def __init__(self, cuda: Driver, bounce: int) -> None:
        self._cuda = cuda
        self._bounce = bounce

    def clear(self, target: Place, size: int) -> None:
        """Clear the first `size` bytes of a place. The context of the target is current afterwards."""
        if target.context is None:
            ctypes.memset(target.address, _CLEARED_BYTE, size)
            return
        self._cuda.call("cuCtxSetCurrent", target.context)
        self._cuda.call("cuMemsetD32_v2", target.address, CLEARED, size // 4)
        # The copies do not wait for the NULL stream, in which this runs.
        self._cuda.call("cuStreamSynchronize", None)

    def inspect(self, target: Place, pattern: int, size: int, copies: int, tally: Tally) -> None:
        """Verify all `copies` that lie back to back in a place. Leaves the context of the target current."""
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
        # If the second fetch is correct, the first was corrupted on its way from the GPU to the host.
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
