# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory of a planted host: size, huge pages, merging, ZFS, /dev/shm, swap."""
from __future__ import annotations

from collections.abc import Mapping

from .tree import Tree

THP = "/sys/kernel/mm/transparent_hugepage"
SWAPS_HEADER = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
SIZES = {2048: "inherit"}       # KiB: the selected value in the file `enabled` of that size


def plant_memory(tree: Tree, *, total_kib: int = 527765504, available_kib: int = 480000000) -> None:
    """By default as on a host with 512 GiB installed: 503 GiB."""
    tree.file("/proc/meminfo", f"MemTotal:       {total_kib} kB\nMemFree:        {available_kib} kB\n"
                               f"MemAvailable:   {available_kib} kB\nBuffers:            2048 kB\n"
                               f"HugePages_Total:       0\nHugepagesize:       2048 kB\nHugetlb:               0 kB\n")
    plant_ksm(tree)
    plant_shm(tree)


def plant_ksm(tree: Tree, *, run: int = 0, shared: int = 0, sharing: int = 0, across: int = 1) -> None:
    tree.files("/sys/kernel/mm/ksm", {"run": run, "merge_across_nodes": across, "pages_shared": shared,
                                      "pages_sharing": sharing})


def plant_shm(tree: Tree, size: str | None = None) -> None:
    """/proc/mounts; the kernel shows a `size` such as 65536k only if it is not half of the memory."""
    options = "rw,nosuid,nodev" + (f",size={size}" if size else "") + ",inode64"
    tree.file("/proc/mounts", f"proc /proc proc rw,nosuid 0 0\ntmpfs /dev/shm tmpfs {options} 0 0\n"
                              f"tmpfs /run/lock tmpfs rw,size=5120k 0 0\n")


def plant_hugepages(tree: Tree, kib: int, nodes: Mapping[int, tuple[int, int]], reserved: int = 0) -> None:
    """A pool of static huge pages: total and free pages by node."""
    size = f"hugepages-{kib}kB"
    total, free = (sum(counts) for counts in zip(*nodes.values()))
    tree.files(f"/sys/kernel/mm/hugepages/{size}", {"nr_hugepages": total, "free_hugepages": free,
                                                    "resv_hugepages": reserved, "surplus_hugepages": 0})
    for node, (pages, unused) in nodes.items():
        tree.files(f"/sys/devices/system/node/node{node}/hugepages/{size}", {"nr_hugepages": pages,
                                                                             "free_hugepages": unused})
    here = tree.path("/proc/meminfo")
    here.write_text(here.read_text().replace("Hugetlb:               0 kB", f"Hugetlb: {total * kib} kB"))


def plant_arc(tree: Tree, limit: int, *, size: int = 8 << 30, least: int = 16 << 30, configured: int = 0) -> None:
    """ZFS is loaded; sizes in bytes."""
    tree.file("/proc/spl/kstat/zfs/arcstats", "9 1 0x01 147 39984 4326012540 96842424242\n"
              "name                            type data\nhits                            4    102030\n"
              f"c                               4    {size}\nc_min                           4    {least}\n"
              f"c_max                           4    {limit}\nsize                            4    {size}\n"
              "memory_available_bytes          3    -1073741824\n")
    tree.file("/sys/module/zfs/parameters/zfs_arc_max", configured)


def plant_thp(tree: Tree, *, enabled: str = "madvise", defrag: str = "madvise", shmem_enabled: str = "never",
              khugepaged_defrag: int = 1, sizes: Mapping[int, str] | None = None) -> None:
    """Transparent huge pages; `sizes` is empty before kernel 6.8."""
    tree.files(THP, {
        "enabled": choice("always madvise never", enabled),
        "defrag": choice("always defer defer+madvise madvise never", defrag),
        "shmem_enabled": choice("always within_size advise never deny force", shmem_enabled),
        "khugepaged/defrag": khugepaged_defrag})
    for kib, chosen in (SIZES if sizes is None else sizes).items():
        tree.file(f"{THP}/hugepages-{kib}kB/enabled", choice("always inherit madvise never", chosen))


def plant_pmd_size(tree: Tree, size: int) -> None:
    """The size in bytes of a PMD-mapped huge page: 2 MiB, or 512 MiB with 64 KiB pages."""
    tree.file(f"{THP}/hpage_pmd_size", size)


def plant_swap(tree: Tree, *rows: str) -> None:
    """/proc/swaps with rows in the kernel's format; without rows the host has no swap."""
    tree.file("/proc/swaps", SWAPS_HEADER + "".join(f"{row}\n" for row in rows))


def choice(words: str, chosen: str) -> str:
    """`always [madvise] never`"""
    assert chosen in words.split(), f"{chosen} is not one of {words}"
    return " ".join(f"[{word}]" if word == chosen else word for word in words.split())
