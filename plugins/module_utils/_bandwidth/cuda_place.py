# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Where a GPU sits: its NUMA node and its link, by sysfs (Documentation/ABI/testing/sysfs-bus-pci), and host memory.

Runs in the measuring child: no import but the standard library and its siblings. `sys` is the path of sysfs.
"""
from __future__ import annotations

import os
import re

from .._kernel.cpulist import parse_cpulist

_ALL_CPUS = os.sched_getaffinity(0)
_SPEED = re.compile(r"(\d+(?:\.\d+)?) GT/s")


def read_link(sys: str, bdf: str) -> dict | None:
    """`{speed_gt_s, width}` as the link is now; None where sysfs does not say."""
    folder = f"{sys}/bus/pci/devices/{bdf}"
    try:
        speed = _SPEED.match(_read(f"{folder}/current_link_speed"))
        width = int(_read(f"{folder}/current_link_width"))
    except (OSError, ValueError):
        return None
    return {"speed_gt_s": float(speed[1]), "width": width} if speed else None


def read_available_memory(path: str = "/proc/meminfo") -> int:
    """Bytes that the host, or the container, can give away without swapping: MemAvailable (man 5 proc_meminfo)."""
    found = re.search(r"^MemAvailable: +(\d+) kB$", _read(path), re.MULTILINE)
    return int(found[1]) << 10 if found else 0


def read_node(sys: str, bdf: str) -> int | None:
    """The NUMA node; None where the firmware names none."""
    try:
        node = int(_read(f"{sys}/bus/pci/devices/{bdf}/numa_node"))
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None


def bind_to_node(sys: str, bdf: str) -> tuple[int | None, bool]:
    """The GPU's node, and whether this thread runs on CPUs of that node from now on, as memory comes from there then.

    A container may not be given those CPUs: then it runs where it may, not where the GPU before had it.
    """
    node = read_node(sys, bdf)
    os.sched_setaffinity(0, _ALL_CPUS)
    if node is None:
        return None, False
    try:
        os.sched_setaffinity(0, parse_cpulist(_read(f"{sys}/devices/system/node/node{node}/cpulist")))
    except (OSError, ValueError):
        return node, False
    return node, True


def _read(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read().strip()
