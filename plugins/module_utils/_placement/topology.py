# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Which CPUs share a core or a last-level cache, and which CPU features relevant to inference they have.

Documentation/ABI/stable/sysfs-devices-system-cpu: topology/core_cpus_list; Documentation/ABI/testing/
sysfs-devices-system-cpu: cache/index*/shared_cpu_list. Flags: arch/x86/include/asm/cpufeatures.h.
"""
from __future__ import annotations

from collections.abc import Iterable

from .._host.host import Host
from .._host.reading import ABSENT, Reading
from .._kernel.cpulist import format_cpulist, parse_cpulist

CPU = "/sys/devices/system/cpu"
# Features by which libraries select code: oneDNN and PyTorch (CPU dispatch ISA), llama.cpp (GGML_AVX*, GGML_AMX*).
FEATURES = ("avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16",
            "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16")


def read(host: Host, nodes: list[dict], cpuinfo: Reading) -> dict:
    """`{cores, l3, features}`; `nodes` as in the facts `numa`, `cpuinfo` is from read_cpuinfo()."""
    online = host.read(f"{CPU}/online").map(parse_cpulist).value
    if online is None:
        online = sorted({cpu for node in nodes for cpu in parse_cpulist(node["cpus"])})
    return {"cores": read_groups(host, online, ("topology/core_cpus_list", "topology/thread_siblings_list")),
            "l3": read_groups(host, online, ("cache/index3/shared_cpu_list",)),
            "features": read_features(cpuinfo)}


def read_groups(host: Host, cpus: Iterable[int], names: tuple[str, ...]) -> list[str]:
    """The lists of CPUs that share a resource, each read once, at its first CPU; empty if a CPU has no such file.

    `names`: the file below a CPU's folder, then its older names. index3 is the third-level cache on every x86 processor
    that has one; processors with fewer levels have no such folder.
    """
    groups, seen = [], set()
    for cpu in cpus:
        if cpu in seen:
            continue
        texts = (host.read(f"{CPU}/cpu{cpu}/{name}") for name in names)
        group = next((found for text in texts for found in (text.map(parse_cpulist),) if found.ok), None)
        if group is None or cpu not in group.value:
            return []
        groups.append(format_cpulist(group.value))
        seen.update(group.value)
    return groups


def read_features(cpuinfo: Reading) -> Reading:
    """The FEATURES that the CPUs have; absent on processors whose /proc/cpuinfo has no such flags."""
    if not cpuinfo.ok:
        return Reading(cpuinfo.status, None, cpuinfo.detail)
    flags = cpuinfo.value.flags
    return cpuinfo.map(lambda _info: [name for name in FEATURES if name in flags]) if flags else Reading(
        ABSENT, None, "/proc/cpuinfo has no flags of x86")
