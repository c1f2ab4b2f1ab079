# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Published headers of the CUDA driver API, and the prototypes in them.

They are in NVIDIA's packages nvidia-cuda-runtime-cu12 and nvidia-cuda-runtime of PyPI, which requirements/test.txt has.
"""
from __future__ import annotations

import pathlib
import re
import sysconfig

# Where each package puts its headers, below site-packages.
FOLDERS = {"12": "nvidia/cuda_runtime/include", "13": "nvidia/cu13/include"}
_PROTOTYPE = re.compile(r"^CUresult CUDAAPI (cu\w+)\(([^)]*)\);", re.MULTILINE)
_MACRO = re.compile(r"^ *#define +(cu\w+) +(?:__CUDA_API_PT(?:SZ|DS)\()?(cu\w+)", re.MULTILINE)
_INTERNAL = "#if defined(__CUDA_API_VERSION_INTERNAL)"
# Sizes in bytes by the type of a parameter; whatever is a pointer, or a handle, has 8.
_SIZES = {"int": 4, "unsigned int": 4, "cuuint32_t": 4, "CUdevice": 4, "CUresult": 4, "CUdevice_P2PAttribute": 4,
          "size_t": 8, "CUdeviceptr": 8, "CUcontext": 8, "CUstream": 8, "CUevent": 8,
          "CUmodule": 8, "CUfunction": 8}


def find(version: str) -> pathlib.Path | None:
    """The folder of the header of a major version of CUDA; None where its package is not installed."""
    folder = pathlib.Path(sysconfig.get_paths()["purelib"]) / FOLDERS[version]
    return folder if (folder / "cuda.h").is_file() else None


def prototypes(folder: pathlib.Path) -> dict[str, list[tuple[int, bool]]]:
    """`{symbol: [(size, whether it is a pointer to something)]}` of all functions that the header declares."""
    text = (folder / "cuda.h").read_text(encoding="utf-8", errors="replace")
    # What only NVIDIA's own code sees has the oldest types.
    public = re.sub(r"/\*.*?\*/", "", text[:text.rfind(_INTERNAL)] if _INTERNAL in text else text, flags=re.DOTALL)
    symbols = dict(_MACRO.findall(public))
    return {symbols.get(name, name): [_parameter(one) for one in parameters.split(",")
                                      if one.strip() not in ("", "void")]
            for name, parameters in _PROTOTYPE.findall(public)}


def _parameter(text: str) -> tuple[int, bool]:
    if "*" in text:
        return 8, True
    words = [word for word in text.split() if word != "const"]
    return _SIZES.get(" ".join(words[:-1]), 0), False
