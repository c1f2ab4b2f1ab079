# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The part of the CUDA driver API that measuring copies needs, through ctypes; no CUDA toolkit is required.

Runs in the measuring child, possibly without this collection installed: imports only the standard library and its
siblings. A function missing in the library affects only the code that needs it.
"""
from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator

from .cuda_functions import (
    CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
    CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK,
    CU_MEMHOSTALLOC_DEVICEMAP,
    CU_MEMHOSTALLOC_PORTABLE,
    CU_STREAM_NON_BLOCKING,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
    CUDA_SUCCESS,
    FUNCTIONS,
    SYMBOLS,
    Uuid,
)

_NAME_LENGTH = 256


class CudaError(Exception):
    """A driver function failed. `name` is CUDA's name of the error, such as CUDA_ERROR_NO_DEVICE."""

    def __init__(self, function: str, code: int, name: str, text: str) -> None:
        super().__init__(f"{function}: {name} ({text})")
        self.code = code
        self.name = name


class NoDriver(Exception):
    """The driver's library cannot be loaded, or lacks a function."""


class Driver:
    """The functions of one library. Functions that acquire GPU resources are context managers that release them."""

    def __init__(self, library: str) -> None:
        self._name = library
        try:
            self._library = ctypes.CDLL(library, use_errno=False)
        except OSError as error:
            raise NoDriver(f"the CUDA driver library {library} cannot be used: {error}") from None
        self._found: dict[str, Callable[..., int]] = {}

    def function(self, name: str) -> Callable[..., int]:
        """A function with its types. Raises NoDriver if the library lacks it."""
        if name not in self._found:
            problem = None
            for symbol in SYMBOLS.get(name, (name,)):
                try:
                    found = getattr(self._library, symbol)
                except AttributeError as error:
                    problem = error
                    continue
                found.argtypes, found.restype = FUNCTIONS[name], ctypes.c_int
                self._found[name] = found
                break
            else:
                raise NoDriver(f"the CUDA driver library {self._name} cannot be used: {problem}")
        return self._found[name]

    def has(self, *names: str) -> bool:
        try:
            return all(self.function(name) for name in names)
        except NoDriver:
            return False

    def call(self, function: str, *arguments: object) -> None:
        """Call a function. Raises CudaError, or NoDriver if the library lacks the function."""
        code = self.function(function)(*arguments)
        if code != CUDA_SUCCESS:
            raise CudaError(function, code, self._error("cuGetErrorName", code) or f"error {code}",
                            self._error("cuGetErrorString", code) or "no description")

    def _error(self, function: str, code: int) -> str | None:
        text = ctypes.c_char_p()
        if not self.has(function) or self.function(function)(code, ctypes.byref(text)) != CUDA_SUCCESS or (
                text.value is None):
            return None
        return text.value.decode("utf-8", "replace")

    def integer(self, function: str, *arguments: object) -> int:
        """Call a function and return the number that it writes to its first argument."""
        answer = ctypes.c_int()
        self.call(function, ctypes.byref(answer), *arguments)
        return answer.value

    def start(self) -> dict:
        """`{version, devices}`: the newest CUDA version that this driver supports, such as `12.8`, and the number of
        visible GPUs; null if the library does not say."""
        self.call("cuInit", 0)
        version = self.integer("cuDriverGetVersion") if self.has("cuDriverGetVersion") else None
        return {"version": None if version is None else f"{version // 1000}.{version % 1000 // 10}",
                "devices": self.integer("cuDeviceGetCount") if self.has("cuDeviceGetCount") else None}

    def device(self, bdf: str) -> int:
        return self.integer("cuDeviceGetByPCIBusId", os.fsencode(bdf))

    def describe(self, device: int) -> dict:
        """`{bdf, name, uuid}`; the address as the driver spells it. Null if the library does not say."""
        return {"bdf": self._text("cuDeviceGetPCIBusId", device), "name": self._text("cuDeviceGetName", device),
                "uuid": self._uuid("cuDeviceGetUuid_v2", device) or self._uuid("cuDeviceGetUuid", device)}

    def is_split(self, device: int) -> bool:
        """Whether MIG partitions the GPU: then the newer function returns the UUID of the instance that this process
        sees, the older one that of the whole GPU."""
        part, whole = (self._uuid(name, device) for name in ("cuDeviceGetUuid_v2", "cuDeviceGetUuid"))
        return None not in (part, whole) and part != whole

    def _uuid(self, function: str, device: int) -> str | None:
        if not self.has(function):
            return None
        uuid = Uuid()
        self.call(function, ctypes.byref(uuid), device)
        digits = bytes(uuid.bytes).hex()
        groups = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        return f"GPU-{'-'.join(groups)}"

    def _text(self, function: str, device: int) -> str | None:
        if not self.has(function):
            return None
        text = ctypes.create_string_buffer(_NAME_LENGTH)
        self.call(function, text, _NAME_LENGTH, device)
        return text.value.decode("utf-8", "replace")

    def retain(self, device: int) -> int:
        """Retain the primary context of a GPU; release() releases it."""
        return self._made("cuDevicePrimaryCtxRetain", device)

    def release(self, device: int) -> None:
        self.call("cuDevicePrimaryCtxRelease", device)

    def _made(self, function: str, *arguments: object) -> int:
        handle = ctypes.c_void_p()
        self.call(function, ctypes.byref(handle), *arguments)
        return handle.value or 0

    def free_memory(self) -> int:
        """Free bytes on the GPU of the current context."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    @contextlib.contextmanager
    def _held(self, handle: int, give_back: str) -> Iterator[int]:
        # After a GPU error every call fails; the first error is the one to report.
        ignored: tuple[type[Exception], ...] = (CudaError,)
        try:
            yield handle
            ignored = ()
        finally:
            with contextlib.suppress(*ignored):
                self.call(give_back, handle)

    def memory(self, size: int) -> contextlib.AbstractContextManager[int]:
        """Allocate memory on the GPU of the current context."""
        address = ctypes.c_ulonglong()
        self.call("cuMemAlloc_v2", ctypes.byref(address), size)
        return self._held(address.value, "cuMemFree_v2")

    def pinned(self, size: int) -> contextlib.AbstractContextManager[int]:
        """Allocate pinned host memory, on the NUMA node of this thread's CPU; usable by all contexts."""
        flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
        return self._held(self._made("cuMemHostAlloc", size, flags), "cuMemFreeHost")

    def device_pointer(self, host: int) -> int:
        """The device address of pinned memory."""
        address = ctypes.c_ulonglong()
        self.call("cuMemHostGetDevicePointer_v2", ctypes.byref(address), host, 0)
        return address.value

    def stream(self) -> contextlib.AbstractContextManager[int]:
        """A stream that does not synchronise with the NULL stream of its context."""
        return self._held(self._made("cuStreamCreate", CU_STREAM_NON_BLOCKING), "cuStreamDestroy")

    def event(self) -> contextlib.AbstractContextManager[int]:
        return self._held(self._made("cuEventCreate", 0), "cuEventDestroy")

    def elapsed(self, start: int, end: int) -> float:
        """Milliseconds between two events, once the second has occurred."""
        self.call("cuEventSynchronize", end)
        milliseconds = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(milliseconds), start, end)
        return milliseconds.value

    def can_access(self, device: int, peer: int) -> bool:
        return bool(self.integer("cuDeviceCanAccessPeer", device, peer))

    def peer_attributes(self, device: int, peer: int) -> dict:
        """`{performance_rank, native_atomics}`: 0 is the best rank. Null if the library does not say."""
        if not self.has("cuDeviceGetP2PAttribute"):
            return {"performance_rank": None, "native_atomics": None}
        rank, atomics = (self.integer("cuDeviceGetP2PAttribute", attribute, device, peer) for attribute in (
            CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED))
        return {"performance_rank": rank, "native_atomics": bool(atomics)}

    def peer_access(self, ours: int, theirs: int) -> contextlib.AbstractContextManager[int]:
        """Give the context `ours` access to memory of the context `theirs`. Leaves `ours` current."""
        self.call("cuCtxSetCurrent", ours)
        try:
            self.call("cuCtxEnablePeerAccess", theirs, 0)
        except CudaError as error:
            if error.code != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED:
                raise
        return self._reached(ours, theirs)

    @contextlib.contextmanager
    def _reached(self, ours: int, theirs: int) -> Iterator[int]:
        with self._held(theirs, "cuCtxDisablePeerAccess") as peer:
            try:
                yield peer
            finally:
                # After a GPU error, report that one instead.
                with contextlib.suppress(CudaError):
                    self.call("cuCtxSetCurrent", ours)
