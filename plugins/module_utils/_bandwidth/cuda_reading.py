# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Time copies with GPU events, in one direction or several at once; every copy is verified.

Runs in the measuring child: imports only the standard library and its siblings. 1 GB/s is 1e9 bytes per second.
"""
from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .cuda_driver import Driver
from .cuda_hold import OPERATIONS, Hold
from .cuda_slots import Inspector, Place, Tally

COPIES = 500                    # maximum per reading
READINGS = 20                   # maximum, within which two in a row must agree
AGREE, AGREE_TOGETHER = 0.02, 0.05
SMALL, SMALL_COPIES = 16, 64    # bytes, copies
LEAD = 2                        # untimed copies before the first timed one: idle links and clocks come up

Copy = Callable[[int, int, int], None]
Report = Callable[[str], None]


class Way(NamedTuple):
    """One direction: `copy` (address, size, stream) queues a copy by the GPU of `context` from its source to an
    address in `target`. The source holds the same data as `pattern`, which is host memory."""

    tally: Tally
    context: int
    copy: Copy
    target: Place
    pattern: int


class Reader:
    """Times ways. `settings`: `warm_up` in seconds, and `reading_ms`, the minimum duration of one reading."""

    def __init__(self, cuda: Driver, hold: Hold, settings: dict[str, Any], report: Report) -> None:
        self.cuda = cuda
        self.hold = hold
        self.warm_up = settings["warm_up"]
        self.reading_ms = settings["reading_ms"]
        self.report = report

    def measure(self, way: Way, sizes: list[int], inspector: Inspector) -> dict[str, Any]:
        """`{gb_s, settled, by_size: [{bytes, gb_s, settled}]}`; the first two are for the largest size."""
        self.report(f"warm-up of {way.tally.label}")
        until = time.monotonic() + self.warm_up
        while time.monotonic() < until:
            self._read([way], sizes[-1], self._most(way, sizes[-1]), inspector)
        rows = []
        for size in sizes:
            self.report(f"{way.tally.label} of {size} bytes")
            rows.append({"bytes": size, **self._settle(way, size, inspector)})
        return {"gb_s": rows[-1]["gb_s"], "settled": rows[-1]["settled"], "by_size": rows}

    def under_load(self, way: Way, size: int, inspector: Inspector, look: Callable[[], Any]) -> Any:
        """The result of `look`, called while copies are in progress."""
        self.report("link under load")
        return self._read([way], size, self._most(way, size), inspector, look)[1]

    def latency(self, way: Way, inspector: Inspector) -> dict[str, Any]:
        """`{latency_us, latency_why}` of a copy of a few bytes, in a stream held until all copies are queued; without
        the hold, the result would be the time that the CPU takes to queue a copy."""
        if self.hold.why_not:
            return {"latency_us": None, "latency_why": self.hold.why_not}
        self.report(f"{way.tally.label} latency")
        _total, _seen, (each,) = self._read([way], SMALL, SMALL_COPIES, inspector, held=True)
        return {"latency_us": round(1000 * each, 2), "latency_why": None}

    def together(self, ways: Sequence[Way], size: int, inspector: Inspector) -> dict[str, Any]:
        """`{gb_s, settled, ways: [gb_s]}` of all ways at once: the sum, and each way timed separately."""
        self.report(f"{len(ways)} concurrent copies of {size} bytes")
        once = self._read(ways, size, 1, inspector, held=True)[0]
        copies = max(1, min(round(self.reading_ms / once) if once > 0 else COPIES,
                            *(self._most(way, size) for way in ways), OPERATIONS - 4 - len(ways)))
        until = time.monotonic() + self.warm_up
        while time.monotonic() < until:
            self._read(ways, size, copies, inspector, held=True)
        before: tuple[float, list[float]] | None = None
        for _number in range(READINGS):
            total, _seen, each = self._read(ways, size, copies, inspector, held=True)
            if before and abs(total - before[0]) <= AGREE_TOGETHER * before[0]:
                return _sums(size, len(ways), (total + before[0]) / 2, each, True)
            before = total, each
        return _sums(size, len(ways), *before, False)

    def _settle(self, way: Way, size: int, inspector: Inspector) -> dict[str, Any]:
        """Read until two readings in a row agree, and average those."""
        once = self._read([way], size, 1, inspector)[0]
        copies = max(1, min(COPIES, self._most(way, size), round(self.reading_ms / once) if once > 0 else COPIES))
        before = None
        for _number in range(READINGS):
            now = self._read([way], size, copies, inspector)[0]
            if before and now and abs(now - before) <= AGREE * before:
                return {"gb_s": _rate(size, (now + before) / 2), "settled": True}
            before = now
        return {"gb_s": _rate(size, before), "settled": False}

    @staticmethod
    def _most(way: Way, size: int) -> int:
        """The maximum number of copies in a reading: each, including the untimed ones, has its own slot."""
        return max(1, min(COPIES, way.target.size // size - LEAD))

    def _read(self, ways: Sequence[Way], size: int, copies: int, inspector: Inspector,
              look: Callable[[], Any] | None = None, held: bool = False) -> tuple[float, Any, list[float]]:
        """Milliseconds of one copy of all ways at once, the result of `look`, and milliseconds per copy of each way."""
        # Several ways all start together; untimed copies of one would finish before the others start.
        lead = min(LEAD, ways[0].target.size // size - copies) if len(ways) == 1 else 0
        for way in ways:
            inspector.clear(way.target, size * (lead + copies))
        with contextlib.ExitStack() as owned:
            lanes = [self._lane(owned, way) for way in ways]
            self._queue(lanes, size, lead, copies, held and not self.hold.why_not)
            seen = look() if look else None
            total, each = self._wait(lanes)
        for way in ways:
            inspector.inspect(way.target, way.pattern, size, lead + copies, way.tally)
        return total / copies, seen, [milliseconds / copies for milliseconds in each]

    def _lane(self, owned: contextlib.ExitStack, way: Way) -> tuple[Way, int, list[int]]:
        """A way with its stream and three events: its start, its end, and the end of all ways."""
        self.cuda.call("cuCtxSetCurrent", way.context)
        return way, owned.enter_context(self._in(way, self.cuda.stream)), [
            owned.enter_context(self._in(way, self.cuda.event)) for _event in range(3)]

    @contextlib.contextmanager
    def _in(self, way: Way, make: Callable[[], contextlib.AbstractContextManager[int]]) -> Any:
        """Release a handle in the context in which it was created."""
        with make() as handle:
            yield handle
            self.cuda.call("cuCtxSetCurrent", way.context)

    def _queue(self, lanes: list[tuple[Way, int, list[int]]], size: int, lead: int, copies: int, held: bool) -> None:
        """Queue all copies of all ways; the first stream, on which all others wait, is held until that is done."""
        first = lanes[0]
        self.cuda.call("cuCtxSetCurrent", first[0].context)
        with self.hold.held(first[1]) if held else contextlib.nullcontext():
            for number, (way, stream, (start, end, _all)) in enumerate(lanes):
                self.cuda.call("cuCtxSetCurrent", way.context)
                if number:
                    self.cuda.call("cuStreamWaitEvent", stream, first[2][0], 0)
                for place in range(lead):
                    way.copy(way.target.address + place * size, size, stream)
                self.cuda.call("cuEventRecord", start, stream)
                for place in range(lead, lead + copies):
                    way.copy(way.target.address + place * size, size, stream)
                self.cuda.call("cuEventRecord", end, stream)
            self.cuda.call("cuCtxSetCurrent", first[0].context)
            for _way, _stream, (_start, end, _all) in lanes[1:]:
                self.cuda.call("cuStreamWaitEvent", first[1], end, 0)
            self.cuda.call("cuEventRecord", first[2][2], first[1])

    def _wait(self, lanes: list[tuple[Way, int, list[int]]]) -> tuple[float, list[float]]:
        """Milliseconds from the first start to the last end, and from start to end of each way."""
        each = []
        for way, stream, (start, end, _all) in reversed(lanes):
            self.cuda.call("cuCtxSetCurrent", way.context)
            self.cuda.call("cuStreamSynchronize", stream)
            each.append(self.cuda.elapsed(start, end))
        return self.cuda.elapsed(lanes[0][2][0], lanes[0][2][2]), each[::-1]


def _sums(size: int, ways: int, total: float, each: list[float], settled: bool) -> dict[str, Any]:
    return {"gb_s": _rate(size * ways, total), "settled": settled, "ways": [_rate(size, one) for one in each]}


def _rate(size: int, milliseconds: float | None) -> float:
    return round(size / milliseconds / 1e6, 3) if milliseconds else 0.0
