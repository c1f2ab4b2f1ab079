# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""How fast copies are that the CUDA driver makes, and whether what was sent arrives.

Runs in the measuring child: no import but the standard library and its siblings. GB/s are 1e9 bytes a second, by
the GPU's own events.
"""
from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from .cuda_driver import Driver
from .cuda_pattern import compare_pattern, write_pattern
from .cuda_place import bind_to_node, read_available_memory, read_link

SHARE_OF_FREE_MEMORY = 20       # one part of so many, 5%
COPIES = 500                    # that one reading has at most
READINGS = 20                   # within which two in a row have to agree
AGREE = 0.02
SMALL, SMALL_COPIES = 16, 64    # bytes, copies
CLEARED = 0xA5A5A5A5            # what is where the pattern is to arrive

Report = Callable[[str], None]


class Gpu:
    """One GPU with its primary context. `number` tells its pattern from those of others."""

    def __init__(self, cuda: Driver, bdf: str, number: int) -> None:
        self.bdf = bdf
        self.number = number
        self.device = cuda.device(bdf)
        self.context = cuda.retain(self.device)


class Copies:
    """Measures with one driver; `report` is told what is about to happen.

    `settings` has `sizes` in bytes, `warm_up` in seconds, `reading_ms`, which one reading lasts at least, and `sys`,
    where sysfs is.
    """

    def __init__(self, cuda: Driver, settings: dict[str, Any], report: Report) -> None:
        self.cuda = cuda
        self.sizes = sorted(settings["sizes"])
        self.warm_up = settings["warm_up"]
        self.reading_ms = settings["reading_ms"]
        self.sys = settings["sys"]
        self.report = report
        self._gpus: dict[str, Gpu] = {}

    def gpu(self, bdf: str) -> dict[str, Any]:
        """`{name, uuid, numa_node, bound, sizes, h2d, d2h, d2d, link, wrong}` of one GPU."""
        cuda, gpu = self.cuda, self._use(bdf)
        node, bound = bind_to_node(self.sys, bdf)
        sizes = self._fitting(2)
        seen = {**cuda.describe(gpu.device), "numa_node": node, "bound": bound, "sizes": sizes}
        if not sizes:
            return seen
        with contextlib.ExitStack() as held:
            buffers = [held.enter_context(make(sizes[-1])) for make in (cuda.pinned, cuda.memory, cuda.memory)]
            return {**seen, **self._round(gpu, sizes, *buffers, held.enter_context(cuda.stream()))}

    def _round(self, gpu: Gpu, sizes: list[int], host: int, first: int, second: int, stream: int) -> dict[str, Any]:
        """The pattern goes from the host to the GPU, there to a second place, and from that back to the host."""
        cuda, most = self.cuda, sizes[-1]

        def h2d(size: int) -> None:
            cuda.call("cuMemcpyHtoDAsync_v2", first, host, size, stream)

        def d2d(size: int) -> None:
            cuda.call("cuMemcpyDtoDAsync_v2", second, first, size, stream)

        def d2h(size: int) -> None:
            cuda.call("cuMemcpyDtoHAsync_v2", host, second, size, stream)

        write_pattern(host, gpu.number, most)
        self._clear(first, most)
        self._clear(second, most)
        self._warm(h2d, most, stream)
        found = {"h2d": self._measure("h2d", h2d, sizes, stream),
                 "link": self._link_under_load(gpu, h2d, most, stream)}
        found["d2d"] = self._measure("d2d", d2d, sizes, stream)
        write_pattern(host, ~gpu.number, most)
        found["d2h"] = self._measure("d2h", d2h, sizes, stream)
        return {**found, "wrong": self._wrong("h2d, d2d and d2h", host, gpu.number, most)}

    def pair(self, bdf: str, peer: str) -> dict[str, Any]:
        """`{can_access, enabled, sizes, performance_rank, native_atomics, read, write, wrong}`.

        The GPU `bdf` makes both copies: it reads from, and writes to, memory of `peer`.
        """
        cuda, theirs, ours = self.cuda, self._use(peer), self._use(bdf)
        found: dict[str, Any] = {"can_access": cuda.can_access(ours.device, theirs.device), "enabled": False,
                                 **cuda.peer_attributes(ours.device, theirs.device)}
        if not found["can_access"]:
            return found
        bind_to_node(self.sys, bdf)
        cuda.call("cuCtxSetCurrent", theirs.context)
        sizes = self._fitting(1)
        cuda.call("cuCtxSetCurrent", ours.context)
        sizes = [size for size in self._fitting(1) if size in sizes]
        if not sizes:
            return {**found, "sizes": sizes}
        with cuda.peer_access(theirs.context), cuda.pinned(sizes[-1]) as host, cuda.memory(sizes[-1]) as here:
            cuda.call("cuCtxSetCurrent", theirs.context)
            with cuda.memory(sizes[-1]) as there:
                cuda.call("cuCtxSetCurrent", ours.context)
                wrong: list[dict] = []
                for name, source, target in (("write", (ours, here), (theirs, there)),
                                             ("read", (theirs, there), (ours, here))):
                    found[name], bad = self._peer_copy(name, ours, source, target, host, sizes)
                    wrong += bad
                cuda.call("cuCtxSetCurrent", theirs.context)
            cuda.call("cuCtxSetCurrent", ours.context)
        return {**found, "enabled": True, "sizes": sizes, "wrong": wrong}

    def _peer_copy(self, name: str, ours: Gpu, source: tuple[Gpu, int], target: tuple[Gpu, int], host: int,
                   sizes: list[int]) -> tuple[dict, list[dict]]:
        """Bandwidth and latency of one direction, and what arrived wrong."""
        cuda, most = self.cuda, sizes[-1]
        # One number for each ordered pair and direction.
        sender = (source[0].number << 16) + (target[0].number << 8) + (1 if name == "read" else 2)
        self._upload(source, sender, host, most)
        cuda.call("cuCtxSetCurrent", target[0].context)
        self._clear(target[1], most)
        cuda.call("cuCtxSetCurrent", ours.context)
        with cuda.stream() as stream:
            def copy(size: int) -> None:
                cuda.call("cuMemcpyPeerAsync", target[1], target[0].context, source[1], source[0].context, size, stream)

            self._warm(copy, most, stream)
            measured = self._measure(f"peer {name}", copy, sizes, stream)
            self.report(f"peer {name} latency")
            measured["latency_us"] = round(1000 * self._time(copy, SMALL, SMALL_COPIES, stream), 2)
        wrong = self._download(target, sender, host, most, name)
        cuda.call("cuCtxSetCurrent", ours.context)
        return measured, wrong

    def _upload(self, to: tuple[Gpu, int], sender: int, host: int, size: int) -> None:
        self.report("sending the pattern")
        write_pattern(host, sender, size)
        self.cuda.call("cuCtxSetCurrent", to[0].context)
        with self.cuda.stream() as stream:
            self.cuda.call("cuMemcpyHtoDAsync_v2", to[1], host, size, stream)
            self.cuda.call("cuStreamSynchronize", stream)

    def _download(self, at: tuple[Gpu, int], sender: int, host: int, size: int, name: str) -> list[dict]:
        self.report("fetching the pattern")
        write_pattern(host, ~sender, size)
        self.cuda.call("cuCtxSetCurrent", at[0].context)
        with self.cuda.stream() as stream:
            self.cuda.call("cuMemcpyDtoHAsync_v2", host, at[1], size, stream)
            self.cuda.call("cuStreamSynchronize", stream)
        return self._wrong(name, host, sender, size)

    @staticmethod
    def _wrong(copied: str, host: int, sender: int, size: int) -> list[dict]:
        wrong = compare_pattern(host, sender, size)
        return [] if wrong is None else [{"copied": copied, **wrong}]

    def _use(self, bdf: str) -> Gpu:
        if bdf not in self._gpus:
            self.report(f"opening {bdf}")
            self._gpus[bdf] = Gpu(self.cuda, bdf, len(self._gpus) + 1)
        self.cuda.call("cuCtxSetCurrent", self._gpus[bdf].context)
        return self._gpus[bdf]

    def _fitting(self, buffers: int) -> list[int]:
        """The sizes of which so many buffers take at most 5% of what is free on the current GPU and on the host."""
        free = min(self.cuda.free_memory() // buffers, read_available_memory())
        return [size for size in self.sizes if size <= free // SHARE_OF_FREE_MEMORY]

    def _clear(self, address: int, size: int) -> None:
        self.cuda.call("cuMemsetD32_v2", address, CLEARED, size // 4)
        # The copy that follows may be made by another context, which does not wait for this one.
        self.cuda.call("cuStreamSynchronize", None)

    def _warm(self, copy: Callable[[int], None], size: int, stream: int) -> None:
        """Copies until the link and the clocks had time to come up."""
        self.report("warm-up")
        until = time.monotonic() + self.warm_up
        while time.monotonic() < until:
            copy(size)
            self.cuda.call("cuStreamSynchronize", stream)

    def _measure(self, what: str, copy: Callable[[int], None], sizes: list[int], stream: int) -> dict[str, Any]:
        """`{gb_s, settled, by_size: [{bytes, gb_s, settled}]}`; the first two are those of the largest size."""
        rows = []
        for size in sizes:
            self.report(f"{what} of {size} bytes")
            rows.append({"bytes": size, **self._settle(copy, size, stream)})
        return {"gb_s": rows[-1]["gb_s"], "settled": rows[-1]["settled"], "by_size": rows}

    def _settle(self, copy: Callable[[int], None], size: int, stream: int) -> dict[str, Any]:
        """Reads until two readings in a row agree, which are averaged then."""
        once = self._time(copy, size, 1, stream)
        copies = max(1, min(COPIES, round(self.reading_ms / once))) if once > 0 else COPIES
        before = None
        for _number in range(READINGS):
            now = self._time(copy, size, copies, stream)
            if before and now and abs(now - before) <= AGREE * before:
                return {"gb_s": _rate(size, (now + before) / 2), "settled": True}
            before = now
        return {"gb_s": _rate(size, before), "settled": False}

    def _time(self, copy: Callable[[int], None], size: int, copies: int, stream: int) -> float:
        """Milliseconds of one copy, of so many in a row."""
        with self.cuda.event() as start, self.cuda.event() as end:
            self.cuda.call("cuEventRecord", start, stream)
            for _number in range(copies):
                copy(size)
            self.cuda.call("cuEventRecord", end, stream)
            return self.cuda.elapsed(start, end) / copies

    def _link_under_load(self, gpu: Gpu, copy: Callable[[int], None], size: int, stream: int) -> dict | None:
        """The link while copies are under way; None where sysfs does not say."""
        self.report("link under load")
        for _number in range(COPIES // 10):
            copy(size)
        link = read_link(self.sys, gpu.bdf)
        self.cuda.call("cuStreamSynchronize", stream)
        return link


def _rate(size: int, milliseconds: float | None) -> float:
    return round(size / milliseconds / 1e6, 3) if milliseconds else 0.0
