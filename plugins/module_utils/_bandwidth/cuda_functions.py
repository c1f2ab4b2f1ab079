# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""ctypes declarations of the CUDA driver API functions that measuring copies needs.

Names, types and values are from cuda.h (docs.nvidia.com/cuda/cuda-driver-api); symbols have the suffix _v2.
Runs in the measuring child: imports only the standard library.
"""
from __future__ import annotations

import ctypes

CUDA_SUCCESS = 0
CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217
CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704
CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK = 1
CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED = 3
CU_STREAM_NON_BLOCKING = 1
CU_STREAM_WAIT_VALUE_GEQ = 0
CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP = 1, 2

_int, _uint, _size, _text, _pointer = ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
_device_pointer = ctypes.c_ulonglong        # CUdeviceptr
_to = ctypes.POINTER


class Uuid(ctypes.Structure):
    """CUuuid."""

    _fields_ = (("bytes", ctypes.c_ubyte * 16),)


# CUdevice is an int; CUcontext, CUstream, CUevent, CUmodule and CUfunction are pointers. Every function returns a
# CUresult.
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
    "cuDeviceGetUuid_v2": (_to(Uuid), _int),
    "cuDeviceCanAccessPeer": (_to(_int), _int, _int),
    "cuDeviceGetP2PAttribute": (_to(_int), _int, _int, _int),
    "cuDevicePrimaryCtxRetain": (_to(_pointer), _int),
    "cuDevicePrimaryCtxRelease": (_int,),
    "cuCtxSetCurrent": (_pointer,),
    "cuCtxEnablePeerAccess": (_pointer, _uint),
    "cuCtxDisablePeerAccess": (_pointer,),
    "cuMemGetInfo_v2": (_to(_size), _to(_size)),
    "cuMemAlloc_v2": (_to(_device_pointer), _size),
    "cuMemFree_v2": (_device_pointer,),
    "cuMemHostAlloc": (_to(_pointer), _size, _uint),
    "cuMemHostGetDevicePointer_v2": (_to(_device_pointer), _pointer, _uint),
    "cuMemFreeHost": (_pointer,),
    "cuMemsetD32_v2": (_device_pointer, _uint, _size),
    "cuMemcpyHtoDAsync_v2": (_device_pointer, _pointer, _size, _pointer),
    "cuMemcpyDtoHAsync_v2": (_pointer, _device_pointer, _size, _pointer),
    "cuMemcpyDtoDAsync_v2": (_device_pointer, _device_pointer, _size, _pointer),
    "cuMemcpyPeerAsync": (_device_pointer, _pointer, _device_pointer, _pointer, _size, _pointer),
    "cuStreamCreate": (_to(_pointer), _uint),
    "cuStreamSynchronize": (_pointer,),
    "cuStreamWaitEvent": (_pointer, _pointer, _uint),
    "cuStreamWaitValue32_v2": (_pointer, _device_pointer, _uint, _uint),
    "cuStreamDestroy": (_pointer,),
    "cuEventCreate": (_to(_pointer), _uint),
    "cuEventRecord": (_pointer, _pointer),
    "cuEventSynchronize": (_pointer,),
    "cuEventElapsedTime": (_to(ctypes.c_float), _pointer, _pointer),
    "cuEventDestroy": (_pointer,),
    "cuModuleLoadData": (_to(_pointer), _pointer),
    "cuModuleGetFunction": (_to(_pointer), _pointer, _text),
    "cuModuleUnload": (_pointer,),
    "cuLaunchKernel": (_pointer, _uint, _uint, _uint, _uint, _uint, _uint, _uint, _pointer, _pointer, _pointer),
}
# Functions with two symbols of the same types, the newer one first. If the older one has other types, as the memory
# functions, whose addresses once had 32 bits, only the newer one is in the table above.
SYMBOLS = {name: (f"{name}_v2", name) for name in (
    "cuDevicePrimaryCtxRelease", "cuStreamDestroy", "cuEventElapsedTime", "cuEventDestroy")}
