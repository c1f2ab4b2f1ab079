# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Limits of a control group, and the NUMA nodes that its memory is on.

Sources: Documentation/admin-guide/cgroup-v2.rst (cpuset.*, cpu.max, memory.max, memory.numa_stat, hugetlb.*.numa_stat)
and cgroup-v1/{cpusets,memory}.rst. Each file is read in constant time, regardless of the amount of memory.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Callable

from .._host.host import Host
from .._host.reading import ABSENT, Reading, ok
from .._kernel.cpulist import format_cpulist, parse_cpulist

ROOT = "/sys/fs/cgroup"
_PAGE_KIB = 4       # cgroup v1 counts pages; this is the page size of x86
_KINDS = ("anon", "shmem", "file")
_UNIFIED = ("cpuset.cpus", "cpuset.cpus.effective", "cpuset.mems", "cpuset.mems.effective", "cpu.max", "memory.max",
            "memory.numa_stat")


def path_of(cgroup: str) -> str | None:
    """The unified-hierarchy path in /proc/<pid>/cgroup; None if the process is in no visible cgroup of it."""
    found = re.search(r"^0::(/.*)$", cgroup, re.MULTILINE)
    return found[1] if found and "/../" not in f"{found[1]}/" else None


def read_group(host: Host, path: str) -> dict:
    """The keys of `real` that a cgroup v2 provides; schemas/facts/placement.json explains them."""
    folder = f"{ROOT}{path}"
    files = host.read_attributes(folder, _UNIFIED)
    return {
        "cpuset": files["cpuset.cpus"].map(normal), "cpus": files["cpuset.cpus.effective"].map(normal),
        "memory_nodes": files["cpuset.mems.effective"].map(normal),
        "cpu_limit": files["cpu.max"].map(parse_cpu_max), "memory_limit_kib": files["memory.max"].map(parse_limit),
        "memory": files["memory.numa_stat"].map(parse_numa_stat),
    }


def read_old_group(host: Host, path: str) -> dict:
    """read_group() for cgroup v1, where each controller has its own hierarchy."""
    cpuset, memory = f"{ROOT}/cpuset{path}", f"{ROOT}/memory{path}"
    files = host.read_attributes(cpuset, ("cpuset.cpus", "cpuset.effective_cpus", "cpuset.effective_mems"))
    return {
        "cpuset": files["cpuset.cpus"].map(normal), "cpus": files["cpuset.effective_cpus"].map(normal),
        "memory_nodes": files["cpuset.effective_mems"].map(normal),
        "cpu_limit": read_quota(host, f"{ROOT}/cpu{path}"),
        "memory_limit_kib": host.read(f"{memory}/memory.limit_in_bytes").map(parse_limit),
        "memory": host.read(f"{memory}/memory.numa_stat").map(parse_old_numa_stat),
    }


def read_hugetlb(host: Host, path: str) -> Reading:
    """KiB of huge pages by node, from `hugetlb.<size>.numa_stat` (bytes); absent without the hugetlb controller."""
    folder = f"{ROOT}{path}"
    names = [name for name in host.list(folder) if re.fullmatch(r"hugetlb\.\w+\.numa_stat", name)]
    if not names:
        return Reading(ABSENT, None, "the control group has no hugetlb controller")
    found: dict[int, int] = {}
    for name in names:
        one = host.read(f"{folder}/{name}").map(lambda text: _nodes(text, 1024))
        if not one.ok:
            return one
        for node, size in one.value.items():
            found[node] = found.get(node, 0) + size
    return ok(found)


@functools.lru_cache(maxsize=256)
def normal(text: str) -> str:
    """Normalise a CPU or node list to the kernel's format; empty for none. Cached: guests share a few lists."""
    return format_cpulist(parse_cpulist(text))


def parse_cpu_max(text: str) -> float | None:
    """`400000 100000` as 4.0 CPUs; None for `max`."""
    quota, period = text.split()
    return None if quota == "max" else round(int(quota) / int(period), 3)


def read_quota(host: Host, folder: str) -> Reading:
    """The CPU limit in cgroup v1, where the quota is -1 without a limit."""
    period = host.read_int(f"{folder}/cpu.cfs_period_us")
    return period if not period.ok else host.read_int(f"{folder}/cpu.cfs_quota_us").map(
        lambda quota: None if quota < 0 else round(quota / period.value, 3))


def parse_limit(text: str) -> int | None:
    """A limit in KiB; None for `max` and for cgroup v1's default, the largest number of whole pages."""
    return None if text.strip() == "max" or int(text) >= 1 << 62 else int(text) >> 10


def parse_numa_stat(text: str) -> list[dict]:
    """Parse `anon N0=4096 N1=0`, bytes per node: `[{node, anon_kib, shmem_kib, file_kib, hugetlb_kib}]`.

    The kernel's `file` is the page cache including `shmem`; `file_kib` excludes it.
    """
    found = _by_kind(text, lambda line: line.split(" ", 1), 1024)
    if "anon" not in found:
        raise ValueError("no line anon")
    return _table(found)


def parse_old_numa_stat(text: str) -> list[dict]:
    """Parse `hierarchical_anon=12 N0=12 N1=0`, in pages; `file` includes shared memory, which is not listed."""
    def cut(line: str) -> list[str]:
        name, _equals, rest = line.partition("=")
        return [name.removeprefix("hierarchical_"), rest]

    lines = [line for line in text.splitlines() if line.startswith("hierarchical_")] or text.splitlines()
    found = _by_kind("\n".join(lines), cut, 1)
    if "anon" not in found:
        raise ValueError("no line anon")
    return _table({kind: {node: pages * _PAGE_KIB for node, pages in nodes.items()} for kind, nodes in found.items()})


def _by_kind(text: str, cut: Callable[[str], list[str]], unit: int) -> dict[str, dict[int, int]]:
    return {name: _nodes(rest, unit) for line in text.splitlines() if " " in line
            for name, rest in (cut(line),) if name in _KINDS}


def _nodes(text: str, unit: int) -> dict[int, int]:
    return {int(node): int(size) // unit for node, size in re.findall(r"\bN(\d{1,5})=(\d{1,18})\b", text)}


def _table(found: dict[str, dict[int, int]]) -> list[dict]:
    nodes = sorted({node for sizes in found.values() for node in sizes})
    rows = []
    for node in nodes:
        anon, shmem, file = (found.get(kind, {}).get(node, 0) for kind in _KINDS)
        rows.append({"node": node, "anon_kib": anon, "shmem_kib": shmem, "file_kib": max(0, file - shmem),
                     "hugetlb_kib": 0})
    return rows
