# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""CPU features of the host that a VM's CPU type hides from it.

QEMU's CPU models: target/i386/cpu.c, builtin_x86_defs, as QEMU 11.1 answers query-cpu-model-expansion. The models
x86-64-v2 to v4 are Proxmox VE's own, of qemu64 and flags, and Icelake-Client is Icelake-Server:
PVE/QemuServer/CPUConfig.pm. A VM with a model of which the host lacks a feature does not start, as qemu-server adds
`enforce`.
"""
from __future__ import annotations

import re
from typing import Any

from ..reading import known, lost, value

# Features by which libraries select code; the others in the facts come with one of these.
_JUDGED = ("avx", "avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16")
_NONE: frozenset[str] = frozenset()
_AVX = frozenset(("avx",))
_AVX2 = _AVX | {"avx2"}
_AVX512 = _AVX2 | {"avx512f"}
_VNNI = _AVX512 | {"avx512_vnni"}
_BF16 = _VNNI | {"avx512_bf16"}
_AMX = _BF16 | {"avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"}
_MODELS = {
    **dict.fromkeys(("486", "pentium", "pentium2", "pentium3", "coreduo", "core2duo", "n270", "Conroe", "Penryn",
                     "Nehalem", "Westmere", "Denverton", "Snowridge", "athlon", "phenom", "Opteron_G1", "Opteron_G2",
                     "Opteron_G3", "base", "kvm32", "kvm64", "qemu32", "qemu64", "x86-64-v2", "x86-64-v2-AES"), _NONE),
    **dict.fromkeys(("SandyBridge", "IvyBridge", "Opteron_G4", "Opteron_G5"), _AVX),
    **dict.fromkeys(("Haswell", "Broadwell", "Skylake-Client", "EPYC", "EPYC-Rome", "EPYC-Milan", "Dhyana",
                     "YongFeng", "SierraForest", "ClearwaterForest", "x86-64-v3"), _AVX2),
    **dict.fromkeys(("Skylake-Server", "KnightsMill", "x86-64-v4"), _AVX512),
    **dict.fromkeys(("Cascadelake-Server", "Icelake-Server", "Icelake-Client"), _VNNI),
    **dict.fromkeys(("Cooperlake", "EPYC-Genoa", "EPYC-Turin"), _BF16),
    **dict.fromkeys(("SapphireRapids", "GraniteRapids", "DiamondRapids"), _AMX),
}
_WHOLE = ("host", "max")
_VARIANT = re.compile(r"(?:-noTSX)?(?:-IBRS|-IBPB)?(?:-v\d+)?$")


def judge_cpu_type(vm: dict[str, Any], features: dict[str, Any]) -> dict[str, Any]:
    """A reading of the features that the host has but the VM does not see; `vm`: of a guest's `configured`."""
    if vm["cpu_arguments"]:
        return lost("args hands QEMU a -cpu of its own")
    if not vm["kvm"] or vm["arch"] not in (None, "x86_64"):
        return lost("QEMU emulates the processor of this VM (kvm: 0, or another arch)")
    host = value(features)
    if host is None:
        return lost(features["status"])
    seen = _seen(vm["cpu_model"], host)
    if seen is None:
        return lost(f"what the CPU type {vm['cpu_type']} has is not known")
    for flag in vm["cpu_flags"]:
        name = next((name for name in host if _plain(name) == _plain(flag[1:])), None)
        if name is not None:
            seen = seen | {name} if flag[0] == "+" else seen - {name}
    return known([name for name in host if name in _JUDGED and name not in seen])


def _seen(model: str | None, host: list[str]) -> frozenset[str] | None:
    if model in _WHOLE:
        return frozenset(host)
    if model is None:
        return None
    return _MODELS.get(model, _MODELS.get(_VARIANT.sub("", model)))


def cpu_setting(vm: dict[str, Any]) -> str:
    """The value of `cpu` in the VM's configuration, or what has the same effect; older facts have the type only."""
    return vm.get("cpu_setting") or vm["cpu_type"]


def as_host(setting: str) -> str:
    """The value of `cpu` with the type host and its other properties: `host,flags=+pcid`."""
    others = [part for part in setting.split(",") if "=" in part and not part.startswith("cputype=")]
    return ",".join(["host", *others])


def _plain(name: str) -> str:
    """The name in one notation: the kernel's avx512_vnni is QEMU's avx512vnni, its amx_tile is amx-tile."""
    return re.sub(r"[-_]", "", name)
