# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The steps of a measurement: one GPU, an ordered pair, a GPU and the host in both directions, concurrent pairs.

Runs in the measuring child: imports only the standard library and its siblings.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .cuda_driver import CudaError, Driver
from .cuda_functions import CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
from .cuda_hold import Hold
from .cuda_kernel import Unavailable, loaded
from .cuda_pattern import write_pattern
from .cuda_place import bind_to_node, read_available_memory, read_link
from .cuda_reading import Reader, Report, Way
from .cuda_slots import Inspector, Place, Tally
from .cuda_ways import between, from_host, to_host, within

SHARE_OF_FREE_MEMORY = 20       # one part in 20, 5%
ARENA = 512 << 20               # maximum bytes of destination memory for one reading


class Gpu:
    """One GPU with its primary context. `number` makes its pattern distinct from those of other GPUs."""

    def __init__(self, cuda: Driver, bdf: str, number: int) -> None:
        self.bdf = bdf
        self.number = number
        self.device = cuda.device(bdf)
        self.split = cuda.is_split(self.device)
        self.context = cuda.retain(self.device)


class Copies:
    """Runs the steps with one driver; `report` is called with what is about to happen.

    `settings`: `sizes` in bytes, the settings of a Reader, and `sys`, the path of sysfs.
    """

    def __init__(self, cuda: Driver, settings: dict[str, Any], report: Report) -> None:
        self.cuda = cuda
        self.settings = settings
        self.sizes = sorted(settings["sizes"])
        self.sys = settings["sys"]
        self.report = report
        self._gpus: dict[str, Gpu] = {}
        self._reader: Reader | None = None

    def close(self) -> None:
        """Release everything; nothing can be measured afterwards."""
        if self._reader:
            self.cuda.call("cuCtxSetCurrent", next(iter(self._gpus.values())).context)
            self._reader.hold.close()
        for gpu in self._gpus.values():
            self.cuda.release(gpu.device)

    def gpu(self, bdf: str) -> dict[str, Any]:
        """`{name, uuid, split, numa_node, bound, sizes, h2d, d2h, d2d, link, copies, wrong}` of one GPU."""
        cuda, gpu = self.cuda, self._use(bdf)
        node, bound = bind_to_node(self.sys, bdf)
        sizes = [] if gpu.split else self._fitting([gpu], 3)
        seen = {**cuda.describe(gpu.device), "split": gpu.split, "numa_node": node, "bound": bound, "sizes": sizes}
        if not sizes:
            return seen
        with contextlib.ExitStack() as owned:
            pattern, bounce = self._host(owned, sizes[-1]), self._host(owned, sizes[-1])
            source, target = self._arena(owned, gpu, sizes[-1])
            arrivals = self._host_arena(owned, sizes[-1], 2)
            return {**seen, **self._round(gpu, sizes, source, target, arrivals, pattern, Inspector(cuda, bounce))}

    def _round(self, gpu: Gpu, sizes: list[int], source: Place, target: Place, arrivals: Place, pattern: int,
               inspector: Inspector) -> dict[str, Any]:
        """Measure host to GPU, within the GPU, and GPU to host."""
        reader, most = self._reader, sizes[-1]
        write_pattern(pattern, gpu.number, most)
        self._upload(gpu, source, pattern, most)
        ways = {
            "h2d": Way(Tally("h2d"), gpu.context, from_host(self.cuda, pattern), target, pattern),
            "d2d": Way(Tally("d2d"), gpu.context, within(self.cuda, source), target, pattern),
            "d2h": Way(Tally("d2h"), gpu.context, to_host(self.cuda, source), arrivals, pattern)}
        found = {name: reader.measure(way, sizes, inspector) for name, way in ways.items()}
        found["link"] = reader.under_load(ways["h2d"], most, inspector, lambda: read_link(self.sys, gpu.bdf))
        return {**found, **_inspected(way.tally for way in ways.values())}

    def pair(self, bdf: str, peer: str) -> dict[str, Any]:
        """`{can_access, enabled, sizes, performance_rank, native_atomics, read, write, copies, wrong}`.

        The GPU `bdf` makes both copies: it reads from and writes to the memory of `peer`. If peer access of `bdf` to
        `peer` is not `enabled`, the driver stages both through the host.
        """
        cuda, theirs, ours = self.cuda, self._use(peer), self._use(bdf)
        found = {"can_access": cuda.can_access(ours.device, theirs.device),
                 **cuda.peer_attributes(ours.device, theirs.device)}
        bind_to_node(self.sys, bdf)
        sizes = self._fitting([ours, theirs], 2)
        if not sizes:
            return {**found, "enabled": False, "sizes": sizes}
        with contextlib.ExitStack() as owned:
            enabled = found["can_access"] and self._reach(owned, ours, theirs)
            pattern, bounce = self._host(owned, sizes[-1]), self._host(owned, sizes[-1])
            here, there = self._arena(owned, ours, sizes[-1]), self._arena(owned, theirs, sizes[-1])
            inspector, tallies = Inspector(cuda, bounce), []
            for name, (sender, source), (taker, target) in (("write", (ours, here[0]), (theirs, there[1])),
                                                            ("read", (theirs, there[0]), (ours, here[1]))):
                write_pattern(pattern, _key(sender, taker, name), sizes[-1])
                self._upload(sender, source, pattern, sizes[-1])
                way = Way(Tally(name, f"peer {name}"), ours.context, between(cuda, source, target), target, pattern)
                found[name] = {**self._reader.measure(way, sizes, inspector), **self._reader.latency(way, inspector)}
                tallies.append(way.tally)
        return {**found, "enabled": enabled, "sizes": sizes, **_inspected(tallies)}

    def host(self, bdf: str) -> dict[str, Any]:
        """Concurrent copies between a GPU and the host in both directions."""
        gpu = self._use(bdf)
        bind_to_node(self.sys, bdf)
        sizes = self._fitting([gpu], 3)[-1:]
        if not sizes:
            return {"sizes": sizes}
        with contextlib.ExitStack() as owned:
            pattern, bounce = self._host(owned, sizes[0]), self._host(owned, sizes[0])
            source, target = self._arena(owned, gpu, sizes[0])
            arrivals = self._host_arena(owned, sizes[0], 2)
            write_pattern(pattern, gpu.number, sizes[0])
            self._upload(gpu, source, pattern, sizes[0])
            ways = [Way(Tally("h2d"), gpu.context, from_host(self.cuda, pattern), target, pattern),
                    Way(Tally("d2h"), gpu.context, to_host(self.cuda, source), arrivals, pattern)]
            return self._together(ways, sizes, bounce)

    def pairs(self, pairs: list[list[str]]) -> dict[str, Any]:
        """Concurrent writes of all pairs [from, to], each by its source GPU; a GPU may be in two of them.

        Pairs without peer access are `missing`; if fewer than two pairs remain, nothing is measured.
        """
        flows = [(self._use(one), self._use(other)) for one, other in pairs]
        gpus = list(dict.fromkeys(gpu for flow in flows for gpu in flow))
        sizes = self._fitting(gpus, 2, len(flows) + 1)[-1:]
        if not sizes:
            return {"sizes": sizes}
        with contextlib.ExitStack() as owned:
            reached = [(ours, theirs) for ours, theirs in flows if self.cuda.can_access(ours.device, theirs.device)
                       and self._reach(owned, ours, theirs)]
            missing = [[ours.bdf, theirs.bdf] for ours, theirs in flows if (ours, theirs) not in reached]
            if len(reached) < 2:
                return {"sizes": sizes, "missing": missing, "flows": []}
            gpus = list(dict.fromkeys(gpu for flow in reached for gpu in flow))
            arenas = {gpu: self._arena(owned, gpu, sizes[0]) for gpu in gpus}
            bounce = self._host(owned, sizes[0])
            ways = []
            for ours, theirs in reached:
                pattern = self._host(owned, sizes[0])
                write_pattern(pattern, _key(ours, theirs, "write"), sizes[0])
                self._upload(ours, arenas[ours][0], pattern, sizes[0])
                ways.append(Way(Tally(f"{ours.bdf} -> {theirs.bdf}"), ours.context,
                                between(self.cuda, arenas[ours][0], arenas[theirs][1]), arenas[theirs][1], pattern))
            return {**self._together(ways, sizes, bounce), "missing": missing,
                    "flows": [[ours.bdf, theirs.bdf] for ours, theirs in reached]}

    def kernel(self, bdf: str, peer: str) -> dict[str, Any]:
        """Writes of `bdf` to memory of `peer` by a kernel; `{unavailable: reason}` if the driver cannot."""
        theirs, ours = self._use(peer), self._use(bdf)
        sizes = self._fitting([ours, theirs], 2)[-1:]
        found: dict[str, Any] = {"sizes": sizes, "missing": []}
        if not sizes:
            return found
        with contextlib.ExitStack() as owned:
            if not (self.cuda.can_access(ours.device, theirs.device) and self._reach(owned, ours, theirs)):
                return {**found, "missing": [[bdf, peer]]}
            pattern, bounce = self._host(owned, sizes[0]), self._host(owned, sizes[0])
            source, target = self._arena(owned, ours, sizes[0])[0], self._arena(owned, theirs, sizes[0])[1]
            write_pattern(pattern, _key(ours, theirs, "kernel"), sizes[0])
            self._upload(ours, source, pattern, sizes[0])
            self.report("compiling the kernel")
            try:
                copy = owned.enter_context(loaded(self.cuda))
            except Unavailable as problem:
                return {**found, "unavailable": str(problem)}
            way = Way(Tally("write", "write by a kernel"), ours.context,
                      lambda to, size, stream: copy(to, source.address, size, stream), target, pattern)
            measured = self._reader.measure(way, sizes, Inspector(self.cuda, bounce))
            # The kernel belongs to this context.
            self.cuda.call("cuCtxSetCurrent", ours.context)
        return {**found, "gb_s": measured["gb_s"], "settled": measured["settled"], "ways": [measured["gb_s"]],
                **_inspected([way.tally])}

    def _together(self, ways: list[Way], sizes: list[int], bounce: int) -> dict[str, Any]:
        found = self._reader.together(ways, sizes[0], Inspector(self.cuda, bounce))
        return {"sizes": sizes, **found, **_inspected(way.tally for way in ways)}

    def _upload(self, gpu: Gpu, place: Place, pattern: int, size: int) -> None:
        self.report("writing the pattern")
        self.cuda.call("cuCtxSetCurrent", gpu.context)
        with self.cuda.stream() as stream:
            self.cuda.call("cuMemcpyHtoDAsync_v2", place.address, pattern, size, stream)
            self.cuda.call("cuStreamSynchronize", stream)

    # -- what they need -----------------------------------------------------------------------------------------------

    def _use(self, bdf: str) -> Gpu:
        if bdf not in self._gpus:
            self.report(f"opening {bdf}")
            self._gpus[bdf] = Gpu(self.cuda, bdf, len(self._gpus) + 1)
        self.cuda.call("cuCtxSetCurrent", self._gpus[bdf].context)
        if self._reader is None:
            self._reader = Reader(self.cuda, Hold(self.cuda), self.settings, self.report)
        return self._gpus[bdf]

    def _reach(self, owned: contextlib.ExitStack, ours: Gpu, theirs: Gpu) -> bool:
        """Enable peer access from `ours` to `theirs` until the end of the step; return whether it works."""
        try:
            owned.enter_context(self.cuda.peer_access(ours.context, theirs.context))
        except CudaError as error:
            if error.code != CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
                raise
            return False
        return True

    def _budget(self, gpu: Gpu) -> int:
        self.cuda.call("cuCtxSetCurrent", gpu.context)
        return self.cuda.free_memory() // SHARE_OF_FREE_MEMORY

    def _fitting(self, gpus: list[Gpu], on_host: int, buffers: int = 0) -> list[int]:
        """The sizes that fit twice into 5% of each GPU's free memory, and `on_host` times into 5% of the host's."""
        host = read_available_memory() // SHARE_OF_FREE_MEMORY // max(on_host, buffers)
        free = min([*(self._budget(gpu) // 2 for gpu in gpus), host])
        return [size for size in self.sizes if size <= free]

    def _host(self, owned: contextlib.ExitStack, size: int) -> int:
        return owned.enter_context(self.cuda.pinned(size))

    def _host_arena(self, owned: contextlib.ExitStack, most: int, others: int) -> Place:
        """Host memory as destination of copies; `others` buffers of the largest size are already in use."""
        room = read_available_memory() // SHARE_OF_FREE_MEMORY - others * most
        size = max(most, min(ARENA, room))
        return Place(self._host(owned, size), size, None)

    def _arena(self, owned: contextlib.ExitStack, gpu: Gpu, most: int) -> tuple[Place, Place]:
        """Memory of a GPU: a source of the largest size, and the rest as destination of copies."""
        size = min(ARENA + most, self._budget(gpu)) // most * most
        address = owned.enter_context(self._of(gpu, size))
        return Place(address, most, gpu.context), Place(address + most, size - most, gpu.context)

    @contextlib.contextmanager
    def _of(self, gpu: Gpu, size: int) -> Iterator[int]:
        self.cuda.call("cuCtxSetCurrent", gpu.context)
        with self.cuda.memory(size) as address:
            yield address
            self.cuda.call("cuCtxSetCurrent", gpu.context)


def _key(sender: Gpu, taker: Gpu, name: str) -> int:
    """A distinct number for each ordered pair and kind of copy."""
    return (sender.number << 16) + (taker.number << 8) + {"read": 1, "write": 2, "kernel": 3}[name]


def _inspected(tallies: Any) -> dict[str, Any]:
    """`{copies, wrong}`: how many copies were compared, and the differences found."""
    every = list(tallies)
    return {"copies": sum(tally.copies for tally in every), "wrong": [one for tally in every for one in tally.found()]}
