# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The functions that are called, and those of the stand-in, against headers that NVIDIA has published."""
from __future__ import annotations

import ctypes
import shutil

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.cuda_functions import FUNCTIONS, SYMBOLS

from requirement import need
from standin.cuda import build
from standin.header import FOLDERS, find, prototypes


@pytest.fixture(params=FOLDERS)
def header(request):
    folder = find(request.param)
    need(folder, f"a published cuda.h of CUDA {request.param} is not installed: make")
    return folder


def test_the_types_of_ctypes_are_those_of_the_header(header):
    published = prototypes(header)
    assert published["cuMemAlloc_v2"] == [(8, True), (8, False)]
    for name, types in FUNCTIONS.items():
        symbol = next((one for one in SYMBOLS.get(name, (name,)) if one in published), None)
        if symbol is None and name == "cuDeviceGetUuid":
            continue        # CUDA 13 declares only the newer one; the library has both
        assert symbol, f"{name} is in no header"
        assert [ctypes.sizeof(one) for one in types] == [size for size, _pointer in published[symbol]], name
        pointers = [one is ctypes.c_void_p or one is ctypes.c_char_p or hasattr(one, "contents") for one in types]
        # A handle is a pointer for ctypes, and no pointer in the header.
        assert all(ours for ours, (_size, theirs) in zip(pointers, published[symbol]) if theirs), name


def test_the_stand_in_has_the_prototypes_of_the_header(header, tmp_path):
    need(shutil.which("gcc"), "gcc compiles the stand-in for the CUDA driver library")
    library = ctypes.CDLL(str(build(tmp_path, header=header)))
    assert [name for name in FUNCTIONS if not hasattr(library, name) and not hasattr(library, f"{name}_v2")] == []
