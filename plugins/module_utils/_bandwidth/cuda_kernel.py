# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Copies by a kernel, as NCCL makes them: threads load from one place and store to another.

The kernel is PTX text (PTX ISA 6.0, for compute capability 5.0 and up), which the driver compiles if it has the library
for that. Runs in the measuring child: imports only the standard library and its siblings.
"""
from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator

from .cuda_driver import CudaError, Driver

BLOCKS, THREADS = 64, 512       # a part of the GPU's multiprocessors, as a collective uses
_VECTOR = 16                    # bytes that a thread copies at a time
_NAME = b"copy"
_NEEDED = ("cuModuleLoadData", "cuModuleGetFunction", "cuModuleUnload", "cuLaunchKernel")

# Each thread copies every n-th vector, n being the number of threads, up to `count`: the loop always ends.
PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry copy(.param .u64 to, .param .u64 from, .param .u64 count)
{
    .reg .pred %done;
    .reg .b32 %block, %threads, %thread, %blocks, %a, %b, %c, %d;
    .reg .b64 %to, %from, %count, %at, %step, %offset, %address;
    ld.param.u64 %to, [to];
    ld.param.u64 %from, [from];
    ld.param.u64 %count, [count];
    cvta.to.global.u64 %to, %to;
    cvta.to.global.u64 %from, %from;
    mov.u32 %block, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %thread, %tid.x;
    mov.u32 %blocks, %nctaid.x;
    mul.wide.u32 %at, %block, %threads;
    cvt.u64.u32 %offset, %thread;
    add.u64 %at, %at, %offset;
    mul.wide.u32 %step, %blocks, %threads;
NEXT:
    setp.ge.u64 %done, %at, %count;
    @%done bra END;
    shl.b64 %offset, %at, 4;
    add.u64 %address, %from, %offset;
    ld.global.v4.u32 {%a, %b, %c, %d}, [%address];
    add.u64 %address, %to, %offset;
    st.global.v4.u32 [%address], {%a, %b, %c, %d};
    add.u64 %at, %at, %step;
    bra NEXT;
END:
    ret;
}
\0"""


class Unavailable(Exception):
    """The driver cannot make such copies; the message is one sentence."""


@contextlib.contextmanager
def loaded(cuda: Driver) -> Iterator[Callable[[int, int, int, int], None]]:
    """Load the kernel for the current context and yield `copy(to, from, size, stream)`. Raises Unavailable."""
    missing = [name for name in _NEEDED if not cuda.has(name)]
    if missing:
        raise Unavailable(f"the driver library lacks {' and no '.join(missing)}")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    try:
        cuda.call("cuModuleLoadData", ctypes.byref(module), PTX)
    except CudaError as error:
        raise Unavailable(f"the driver failed to compile the kernel: {error}") from None
    try:
        cuda.call("cuModuleGetFunction", ctypes.byref(function), module, _NAME)

        def copy(to: int, source: int, size: int, stream: int) -> None:
            values = [ctypes.c_ulonglong(value) for value in (to, source, size // _VECTOR)]
            parameters = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
            cuda.call("cuLaunchKernel", function, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, parameters, None)

        yield copy
    finally:
        with contextlib.suppress(CudaError):
            cuda.call("cuModuleUnload", module)
