# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""NUMA node and link of a GPU from sysfs (Documentation/ABI/testing/sysfs-bus-pci), and available host memory.

Runs in the measuring child: imports only the standard library and its siblings. `sys` is the path of sysfs.
"""
from __future__ import annotations

import os
import re

from .._kernel.cpulist import parse_cpulist

_ALL_CPUS = os.sched_getaffinity(0)
_SPEED = re.compile(r"(\d+(?:\.\d+)?) GT/s")


def read_link(sys: str, bdf: str) -> dict | None:
    """`{speed_gt_s, width}` of the link now; None if sysfs does not say."""
    folder = f"{sys}/bus/pci/devices/{bdf}"
    try:
        speed = _SPEED.match(_read(f"{folder}/current_link_speed"))
        width = int(_read(f"{folder}/current_link_width"))
    except (OSError, ValueError):
        return None
    return {"speed_gt_s": float(speed[1]), "width": width} if speed else None


def read_available_memory(path: str = "/proc/meminfo") -> int:
    """Bytes available on the host, or in the container, without swapping: MemAvailable (man 5 proc_meminfo)."""
    found = re.search(r"^MemAvailable: +(\d+) kB$", _read(path), re.MULTILINE)
    return int(found[1]) << 10 if found else 0


def read_node(sys: str, bdf: str) -> int | None:
    """The NUMA node; None if the firmware reports none."""
    try:
        node = int(_read(f"{sys}/bus/pci/devices/{bdf}/numa_node"))
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None


def bind_to_node(sys: str, bdf: str) -> tuple[int | None, bool]:
    """Bind this thread to the CPUs of the GPU's node, so that memory comes from it; return the node and success.

    If a container may not use those CPUs, the thread runs on all allowed ones, not on those of the previous GPU.
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
