# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Hold a stream until everything is queued, so that timings measure the GPU and not the calling CPU.

The stream waits for a word of pinned memory (cuStreamWaitValue32_v2, CUDA Driver API, Stream Memory Operations). The
first version of that function is disabled by default and not used. Runs in the measuring child: imports only the
standard library and its siblings.
"""
from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

from .cuda_driver import CudaError, Driver
from .cuda_functions import CU_STREAM_WAIT_VALUE_GEQ

# Maximum number of operations queued on a held stream: with a full queue the caller would wait for ever.
OPERATIONS = 128
_PAGE = 4096
_NEEDED = ("cuMemHostGetDevicePointer_v2", "cuStreamWaitValue32_v2")


class Hold:
    """Holds streams of all contexts with one word. `why_not` is the reason if it cannot, else None. A context must be
    current on construction."""

    def __init__(self, cuda: Driver) -> None:
        self._cuda = cuda
        self._owned = contextlib.ExitStack()
        missing = [name for name in _NEEDED if not cuda.has(name)]
        self.why_not = f"the driver library lacks {' and no '.join(missing)}" if missing else self._try()
        if self.why_not:
            self.why_not = f"a stream cannot be blocked until all copies are queued: {self.why_not}"

    def _try(self) -> str | None:
        """Hold a stream briefly as a test: a driver may have the function but refuse it."""
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
        """Hold the stream until the end of the block. The block may queue only copies and events: calls that allocate,
        free or load may wait for the stream. Raises CudaError if it cannot be held."""
        self._word.value = 0
        try:
            self._cuda.call("cuStreamWaitValue32_v2", stream, self._address, 1, CU_STREAM_WAIT_VALUE_GEQ)
            yield
        finally:
            self._word.value = 1

    def close(self) -> None:
        self._owned.close()
