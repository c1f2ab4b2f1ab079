# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory of a planted host: size, transparent huge pages, swap."""
from __future__ import annotations

from collections.abc import Mapping

from .tree import Tree

THP = "/sys/kernel/mm/transparent_hugepage"
SWAPS_HEADER = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
SIZES = {2048: "inherit"}       # KiB: what the file `enabled` of that size chooses


def plant_memory(tree: Tree, *, total_kib: int = 527765504, available_kib: int = 480000000) -> None:
    """By default what a host with 512 GiB installed shows: 503 GiB."""
    tree.file("/proc/meminfo", f"MemTotal:       {total_kib} kB\nMemFree:        {available_kib} kB\n"
                               f"MemAvailable:   {available_kib} kB\nBuffers:            2048 kB\n"
                               f"HugePages_Total:       0\nHugepagesize:       2048 kB\n")


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


def plant_swap(tree: Tree, *rows: str) -> None:
    """/proc/swaps with the rows as the kernel prints them; without one the host has no swap."""
    tree.file("/proc/swaps", SWAPS_HEADER + "".join(f"{row}\n" for row in rows))


def choice(words: str, chosen: str) -> str:
    """`always [madvise] never`"""
    assert chosen in words.split(), f"{chosen} is not one of {words}"
    return " ".join(f"[{word}]" if word == chosen else word for word in words.split())
