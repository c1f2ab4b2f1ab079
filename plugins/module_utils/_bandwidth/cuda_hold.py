# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""A stream that waits until everything is queued, so that what is timed is the GPU and not whoever calls it.

A word of pinned memory keeps it waiting (cuStreamWaitValue32_v2, CUDA Driver API, Stream Memory Operations). The first
version of that function is off by default and is not used. Runs in the measuring child: no import but the standard
library and its siblings.
"""
from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

from .cuda_driver import CudaError, Driver
from .cuda_functions import CU_STREAM_WAIT_VALUE_GEQ

# What is queued behind a held stream at most: a queue that is full makes its caller wait for ever.
OPERATIONS = 128
_PAGE = 4096
_NEEDED = ("cuMemHostGetDevicePointer_v2", "cuStreamWaitValue32_v2")


class Hold:
    """Holds streams of all contexts by one word. `why_not` says why it cannot, None where it can. A context has to be
    current when it is made."""

    def __init__(self, cuda: Driver) -> None:
        self._cuda = cuda
        self._owned = contextlib.ExitStack()
        missing = [name for name in _NEEDED if not cuda.has(name)]
        self.why_not = f"the driver library lacks {' and no '.join(missing)}" if missing else self._try()
        if self.why_not:
            self.why_not = f"a stream cannot be blocked until all copies are queued: {self.why_not}"

    def _try(self) -> str | None:
        """Hold a stream for a moment: a driver may have the function and refuse it."""
        try:
            host = self._owned.enter_context(self._cuda.pinned(_PAGE))
            self._word = ctypes.c_uint32.from_address(host)
            self._address = self._cuda.device_pointer(host)
            with self._cuda.stream() as stream:
                with self.held(stream):
                    pass
                self._cuda.call("cuStreamSynchronize", stream)
        except CudaError as error:
            return str(error)
        return None

    @contextlib.contextmanager
    def held(self, stream: int) -> Iterator[None]:
        """The stream waits until the end of the block, in which nothing but copies and events is queued: whatever
        allocates, frees or loads may wait for the stream. Raises CudaError where it cannot be held."""
        self._word.value = 0
        try:
            self._cuda.call("cuStreamWaitValue32_v2", stream, self._address, 1, CU_STREAM_WAIT_VALUE_GEQ)
            yield
        finally:
            self._word.value = 1

    def close(self) -> None:
        self._owned.close()
