# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The CUDA driver API by ctypes: what measuring copies needs of it, and nothing of a toolkit.

Runs in the measuring child, also where this collection is not installed: no import but the standard library. Names,
types and values are those of cuda.h (docs.nvidia.com/cuda/cuda-driver-api); the suffix _v2 is that of the symbols.
"""
from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

CUDA_SUCCESS = 0
CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704
CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK = 1
CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED = 3
_NAME_LENGTH = 256

_int, _uint, _size, _text, _pointer = ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
_device_pointer = ctypes.c_ulonglong        # CUdeviceptr
_to = ctypes.POINTER


class Uuid(ctypes.Structure):
    """CUuuid."""

    _fields_ = (("bytes", ctypes.c_ubyte * 16),)


# CUdevice is an int; CUcontext, CUstream and CUevent are pointers. Every function answers with a CUresult.
FUNCTIONS = {
    "cuInit": (_uint,),
    "cuDriverGetVersion": (_to(_int),),
    "cuGetErrorName": (_int, _to(_text)),
    "cuGetErrorString": (_int, _to(_text)),
    "cuDeviceGetCount": (_to(_int),),
    "cuDeviceGetByPCIBusId": (_to(_int), _text),
    "cuDeviceGetPCIBusId": (_text, _int, _int),
    "cuDeviceGetName": (_text, _int, _int),
    "cuDeviceGetUuid": (_to(Uuid), _int),
    "cuDeviceCanAccessPeer": (_to(_int), _int, _int),
    "cuDeviceGetP2PAttribute": (_to(_int), _int, _int, _int),
    "cuDevicePrimaryCtxRetain": (_to(_pointer), _int),
    "cuCtxSetCurrent": (_pointer,),
    "cuCtxEnablePeerAccess": (_pointer, _uint),
    "cuCtxDisablePeerAccess": (_pointer,),
    "cuMemGetInfo_v2": (_to(_size), _to(_size)),
    "cuMemAlloc_v2": (_to(_device_pointer), _size),
    "cuMemFree_v2": (_device_pointer,),
    "cuMemHostAlloc": (_to(_pointer), _size, _uint),
    "cuMemFreeHost": (_pointer,),
    "cuMemsetD32_v2": (_device_pointer, _uint, _size),
    "cuMemcpyHtoDAsync_v2": (_device_pointer, _pointer, _size, _pointer),
    "cuMemcpyDtoHAsync_v2": (_pointer, _device_pointer, _size, _pointer),
    "cuMemcpyDtoDAsync_v2": (_device_pointer, _device_pointer, _size, _pointer),
    "cuMemcpyPeerAsync": (_device_pointer, _pointer, _device_pointer, _pointer, _size, _pointer),
    "cuStreamCreate": (_to(_pointer), _uint),
    "cuStreamSynchronize": (_pointer,),
    "cuStreamDestroy_v2": (_pointer,),
    "cuEventCreate": (_to(_pointer), _uint),
    "cuEventRecord": (_pointer, _pointer),
    "cuEventSynchronize": (_pointer,),
    "cuEventElapsedTime": (_to(ctypes.c_float), _pointer, _pointer),
    "cuEventDestroy_v2": (_pointer,),
}


class CudaError(Exception):
    """A function of the driver did not succeed. `name` is CUDA's, such as CUDA_ERROR_NO_DEVICE."""

    def __init__(self, function: str, code: int, name: str, text: str) -> None:
        super().__init__(f"{function}: {name} ({text})")
        self.code = code
        self.name = name


class NoDriver(Exception):
    """The driver's library cannot be loaded, or lacks a function."""


class Driver:
    """The functions of one library. Whatever holds something of the GPU is a context manager that gives it back."""

    def __init__(self, library: str) -> None:
        try:
            self._library = ctypes.CDLL(library, use_errno=False)
            for name, types in FUNCTIONS.items():
                function = getattr(self._library, name)
                function.argtypes, function.restype = types, _int
        except (OSError, AttributeError) as error:
            raise NoDriver(f"the CUDA driver library {library} cannot be used: {error}") from None

    def call(self, function: str, *arguments: object) -> None:
        """Raises CudaError."""
        code = getattr(self._library, function)(*arguments)
        if code != CUDA_SUCCESS:
            raise CudaError(function, code, self._error("cuGetErrorName", code) or f"error {code}",
                            self._error("cuGetErrorString", code) or "the library has no text for it")

    def _error(self, function: str, code: int) -> str | None:
        text = ctypes.c_char_p()
        if getattr(self._library, function)(code, ctypes.byref(text)) != CUDA_SUCCESS or text.value is None:
            return None
        return text.value.decode("utf-8", "replace")

    def integer(self, function: str, *arguments: object) -> int:
        """The number that a function writes to its first argument."""
        answer = ctypes.c_int()
        self.call(function, ctypes.byref(answer), *arguments)
        return answer.value

    def start(self) -> dict:
        """`{version, devices}`: the newest CUDA that this driver knows, as `12.8`, and how many GPUs it shows."""
        self.call("cuInit", 0)
        version = self.integer("cuDriverGetVersion")
        return {"version": f"{version // 1000}.{version % 1000 // 10}", "devices": self.integer("cuDeviceGetCount")}

    def device(self, bdf: str) -> int:
        return self.integer("cuDeviceGetByPCIBusId", os.fsencode(bdf))

    def describe(self, device: int) -> dict:
        """`{bdf, name, uuid}`; the address in the driver's spelling."""
        uuid = Uuid()
        self.call("cuDeviceGetUuid", ctypes.byref(uuid), device)
        digits = bytes(uuid.bytes).hex()
        groups = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        return {"bdf": self._name("cuDeviceGetPCIBusId", device), "name": self._name("cuDeviceGetName", device),
                "uuid": f"GPU-{'-'.join(groups)}"}

    def _name(self, function: str, device: int) -> str:
        text = ctypes.create_string_buffer(_NAME_LENGTH)
        self.call(function, text, _NAME_LENGTH, device)
        return text.value.decode("utf-8", "replace")

    def retain(self, device: int) -> int:
        """The primary context of a GPU, which the process that ends gives back."""
        return self._made("cuDevicePrimaryCtxRetain", device)

    def _made(self, function: str, *arguments: object) -> int:
        handle = ctypes.c_void_p()
        self.call(function, ctypes.byref(handle), *arguments)
        return handle.value or 0

    def free_memory(self) -> int:
        """Bytes that are free on the GPU of the current context."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    @contextlib.contextmanager
    def _held(self, handle: int, give_back: str) -> Iterator[int]:
        try:
            yield handle
        except BaseException:
            # After an error of the GPU every call fails: the first one is what a person has to know.
            with contextlib.suppress(CudaError):
                self.call(give_back, handle)
            raise
        self.call(give_back, handle)

    def memory(self, size: int) -> contextlib.AbstractContextManager[int]:
        """Memory of the GPU of the current context."""
        address = ctypes.c_ulonglong()
        self.call("cuMemAlloc_v2", ctypes.byref(address), size)
        return self._held(address.value, "cuMemFree_v2")

    def pinned(self, size: int) -> contextlib.AbstractContextManager[int]:
        """Pinned memory of the host, on the node of the CPU that this thread runs on."""
        return self._held(self._made("cuMemHostAlloc", size, 0), "cuMemFreeHost")

    def stream(self) -> contextlib.AbstractContextManager[int]:
        return self._held(self._made("cuStreamCreate", 0), "cuStreamDestroy_v2")

    def event(self) -> contextlib.AbstractContextManager[int]:
        return self._held(self._made("cuEventCreate", 0), "cuEventDestroy_v2")

    def elapsed(self, start: int, end: int) -> float:
        """Milliseconds between two events, when the second has happened."""
        self.call("cuEventSynchronize", end)
        milliseconds = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(milliseconds), start, end)
        return milliseconds.value

    def can_access(self, device: int, peer: int) -> bool:
        return bool(self.integer("cuDeviceCanAccessPeer", device, peer))

    def peer_attributes(self, device: int, peer: int) -> dict:
        """`{performance_rank, native_atomics}`: 0 is the best rank."""
        rank, atomics = (self.integer("cuDeviceGetP2PAttribute", attribute, device, peer) for attribute in (
            CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED))
        return {"performance_rank": rank, "native_atomics": bool(atomics)}

    def peer_access(self, peer: int) -> contextlib.AbstractContextManager[int]:
        """The current context may reach memory of the context `peer` meanwhile."""
        try:
            self.call("cuCtxEnablePeerAccess", peer, 0)
        except CudaError as error:
            if error.code != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED:
                raise
        return self._held(peer, "cuCtxDisablePeerAccess")
