# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The steps of a measurement, ordered so that a failure shows with as few GPUs and copies as possible.

First one GPU, then a second one, their pair, then all the rest. Concurrent copies come last: one GPU with the host,
two GPUs, all GPUs; then copies by kernels.
"""
from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any, NamedTuple

from .result import BOTH_WAYS, BY_KERNEL, HOST_BOTH_WAYS, SHIFT, empty_group

HOST = "host"


class Step(NamedTuple):
    """One request to the child. `group` is the empty record of concurrent copies, None for a GPU or ordered pair."""

    request: dict[str, Any]
    bdfs: tuple[str, ...]       # the GPUs that take part
    name: str
    group: dict[str, Any] | None = None

    @property
    def subject(self) -> str:
        return self.name if self.group else " and ".join(self.bdfs)


def order(bdfs: list[str], pairs: bool, concurrent: bool = False) -> Iterator[Step]:
    """The steps after init: two GPUs, their pair, the other GPUs, the other ordered pairs, concurrent copies."""
    both = [_pair(one, other) for one, other in permutations(bdfs, 2)] if pairs else []
    yield from map(_gpu, bdfs[:2])
    yield from both[:1]
    yield from map(_gpu, bdfs[2:])
    yield from both[1:]
    if concurrent:
        yield from map(_with_host, bdfs)
        if pairs:
            yield from (_both_ways(one, other) for one, other in combinations(bdfs, 2))
            yield from _shifts(bdfs)
            # Last, because an error in a kernel makes the GPU unusable for the process.
            yield from (_by_kernel(one, other) for one, other in permutations(bdfs, 2))


def _gpu(bdf: str) -> Step:
    return Step({"step": "gpu", "bdf": bdf}, (bdf,), bdf)


def _pair(one: str, other: str) -> Step:
    return Step({"step": "pair", "from": one, "to": other}, (one, other), f"{one} -> {other}")


def _with_host(bdf: str) -> Step:
    name = f"{HOST} <-> {bdf}"
    return Step({"step": "host", "bdf": bdf}, (bdf,), name,
                empty_group(HOST_BOTH_WAYS, name, (bdf,), ((HOST, bdf), (bdf, HOST))))


def _both_ways(one: str, other: str) -> Step:
    name, flows = f"{one} <-> {other}", [(one, other), (other, one)]
    group = empty_group(BOTH_WAYS, name, (one, other), flows)
    return Step({"step": "pairs", "pairs": flows}, (one, other), name, group)


def _by_kernel(one: str, other: str) -> Step:
    name = f"{one} -> {other} by a kernel"
    return Step({"step": "kernel", "from": one, "to": other}, (one, other), name,
                empty_group(BY_KERNEL, name, (one, other), [(one, other)]))


def _shifts(bdfs: list[str]) -> Iterator[Step]:
    """Each GPU writes to the n-th one after it, all at once. With two GPUs that equals both ways of their pair."""
    for by in range(1, len(bdfs)) if len(bdfs) > 2 else ():
        name, flows = f"{SHIFT} by {by}", [(bdf, bdfs[(at + by) % len(bdfs)]) for at, bdf in enumerate(bdfs)]
        yield Step({"step": "pairs", "pairs": flows}, tuple(bdfs), name, empty_group(SHIFT, name, bdfs, flows))
