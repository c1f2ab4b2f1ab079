# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Functions `copy(to, size, stream)` that queue copies, by source and destination.

Runs in the measuring child: imports only the standard library and its siblings.
"""
from __future__ import annotations

from .cuda_driver import Driver
from .cuda_reading import Copy
from .cuda_slots import Place


def from_host(cuda: Driver, source: int) -> Copy:
    return lambda to, size, stream: cuda.call("cuMemcpyHtoDAsync_v2", to, source, size, stream)


def to_host(cuda: Driver, source: Place) -> Copy:
    return lambda to, size, stream: cuda.call("cuMemcpyDtoHAsync_v2", to, source.address, size, stream)


def within(cuda: Driver, source: Place) -> Copy:
    return lambda to, size, stream: cuda.call("cuMemcpyDtoDAsync_v2", to, source.address, size, stream)


def between(cuda: Driver, source: Place, target: Place) -> Copy:
    """Copies into `target`, memory of another GPU."""
    return lambda to, size, stream: cuda.call(
        "cuMemcpyPeerAsync", to, target.context, source.address, source.context, size, stream)
