# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ctypes

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.cuda_driver import (
    CudaError,
    Driver,
    NoDriver,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.cuda_functions import FUNCTIONS

from standin.cuda import Standin, build

A, B = "0000:01:00.0", "0000:21:00.0"


@pytest.fixture
def cuda(standin):
    driver = Driver(str(standin.gpus(A, B).path))
    driver.start()
    return driver


def test_every_function_is_there_and_has_its_types(cuda):
    for name, types in FUNCTIONS.items():
        function = cuda.function(name)
        assert (tuple(function.argtypes), function.restype) == (types, ctypes.c_int), name


def test_sizes_and_device_pointers_have_64_bits():
    """The default of ctypes, an int, would cut both."""
    assert ctypes.sizeof(FUNCTIONS["cuMemAlloc_v2"][1]) == 8
    assert [ctypes.sizeof(FUNCTIONS["cuMemcpyHtoDAsync_v2"][number]) for number in (0, 1, 2, 3)] == [8, 8, 8, 8]


def test_the_newer_of_two_functions_is_asked_first(cuda):
    assert cuda.function("cuEventElapsedTime").__name__ == "cuEventElapsedTime_v2"


@pytest.fixture
def lacking(tmp_path):
    """A driver whose library lacks some functions."""
    def make(*names):
        folder = tmp_path / "lacking"
        folder.mkdir()
        driver = Driver(str(Standin(build(tmp_path, without=names), folder).gpus(A, B).path))
        driver.start()
        return driver
    return make


def test_an_older_library_has_the_older_functions(lacking):
    cuda = lacking("cuEventElapsedTime_v2", "cuDeviceGetUuid_v2")
    assert cuda.function("cuEventElapsedTime").__name__ == "cuEventElapsedTime"
    device = cuda.device(B)
    assert cuda.describe(device)["uuid"] == "GPU-00000000-0000-4000-8000-000000000001"
    assert cuda.is_split(device) is False


def test_a_function_that_is_missing_is_missed_by_nothing_else(lacking):
    names = ("cuGetErrorName", "cuGetErrorString", "cuDriverGetVersion", "cuDeviceGetName", "cuDeviceGetUuid",
             "cuDeviceGetUuid_v2", "cuDeviceGetP2PAttribute", "cuDeviceGetCount", "cuDeviceGetPCIBusId")
    cuda = lacking(*names)
    assert cuda.start() == {"version": None, "devices": None}
    assert cuda.describe(cuda.device(A)) == {"bdf": None, "name": None, "uuid": None}
    assert cuda.peer_attributes(0, 1) == {"performance_rank": None, "native_atomics": None}
    with pytest.raises(CudaError, match=r"cuDeviceGetByPCIBusId: error 101 \(no description\)"):
        cuda.device("0000:99:00.0")
    with pytest.raises(NoDriver, match="undefined symbol: cuDeviceGetName"):
        cuda.function("cuDeviceGetName")


def test_a_gpu_that_is_split_up_shows_the_uuid_of_a_part(standin):
    driver = Driver(str(standin.gpus(A, B).does(f"mig {B}").path))
    driver.start()
    assert [driver.is_split(driver.device(bdf)) for bdf in (A, B)] == [False, True]


def test_what_the_driver_says_of_a_gpu(cuda):
    device = cuda.device(B)
    assert cuda.describe(device) == {"bdf": B, "name": "Stand-in GPU 1",
                                     "uuid": "GPU-00000000-0000-4000-8000-000000000001"}
    assert cuda.start() == {"version": "12.8", "devices": 2}


def test_an_error_has_cudas_name_and_text(cuda):
    with pytest.raises(CudaError) as caught:
        cuda.device("0000:99:00.0")
    assert str(caught.value) == "cuDeviceGetByPCIBusId: CUDA_ERROR_INVALID_DEVICE (invalid device ordinal)"
    assert (caught.value.code, caught.value.name) == (101, "CUDA_ERROR_INVALID_DEVICE")


def test_an_error_that_the_library_does_not_know(standin):
    driver = Driver(str(standin.gpus(A).does("on cuInit 1 error 4711").path))
    with pytest.raises(CudaError, match=r"cuInit: error 4711 \(no description\)"):
        driver.start()


def test_memory_is_given_back_also_after_an_error(cuda):
    cuda.call("cuCtxSetCurrent", cuda.retain(cuda.device(A)))
    free = cuda.free_memory()
    with pytest.raises(CudaError, match="cuMemcpyDtoDAsync_v2: CUDA_ERROR_INVALID_VALUE"), \
            cuda.memory(4096) as address, cuda.stream() as stream:
        assert cuda.free_memory() == free - 4096
        cuda.call("cuMemcpyDtoDAsync_v2", address, address + 4096, 4096, stream)
    assert cuda.free_memory() == free


def test_peer_access_that_is_there_already_is_none_to_complain_about(cuda):
    ours, theirs = (cuda.retain(cuda.device(bdf)) for bdf in (A, B))
    cuda.call("cuCtxSetCurrent", ours)
    cuda.call("cuCtxEnablePeerAccess", theirs, 0)
    with cuda.peer_access(ours, theirs):
        pass
    with pytest.raises(CudaError, match="CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"):
        cuda.call("cuCtxDisablePeerAccess", theirs)


@pytest.mark.parametrize("library, words", [
    ("libcuda-of-nobody.so.1", "cannot open shared object file"), ("libc.so.6", "undefined symbol: cuInit")])
def test_a_library_that_is_none(library, words):
    with pytest.raises(NoDriver, match=words):
        Driver(library).start()
