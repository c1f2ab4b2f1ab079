# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Memory: how much, transparent huge pages, swap."""
from __future__ import annotations

import re

from ._choice import choices, chosen
from ._host import Host
from ._numa import parse_meminfo, pick
from ._reading import ABSENT

THP = "/sys/kernel/mm/transparent_hugepage"


def read(host: Host) -> dict:
    """The facts' section `memory`; sizes in KiB."""
    meminfo = host.read("/proc/meminfo").map(parse_meminfo)
    return {
        "total_kib": pick(meminfo, "MemTotal"),
        "available_kib": pick(meminfo, "MemAvailable"),
        "thp": read_thp(host),
        "swap": host.read("/proc/swaps").map(parse_swaps),
    }


def read_thp(host: Host) -> dict:
    """Documentation/admin-guide/mm/transhuge.rst. From kernel 6.8 on each size has a choice of its own: where that
    of 2048 KiB is `never`, the choice for all says nothing.
    """
    enabled = host.read(f"{THP}/enabled")
    return {
        "enabled": enabled.map(chosen),
        "enabled_choices": enabled.map(choices),
        "defrag": host.read(f"{THP}/defrag").map(chosen),
        "shmem_enabled": host.read(f"{THP}/shmem_enabled").map(chosen),
        "khugepaged_defrag": host.read_int(f"{THP}/khugepaged/defrag"),
        "sizes": read_thp_sizes(host),
    }


def read_thp_sizes(host: Host) -> list[dict]:
    """The choice for every size in KiB; sizes that only shared memory can have are left out."""
    names = [re.fullmatch(r"hugepages-(\d{1,9})kB", name) for name in host.list(THP)]
    sizes = [{"kib": kib, "enabled": host.read(f"{THP}/hugepages-{kib}kB/enabled").map(chosen)}
             for kib in sorted(int(name[1]) for name in names if name)]
    return [size for size in sizes if size["enabled"].status != ABSENT]


def parse_swaps(text: str) -> list[dict]:
    """Lines of /proc/swaps below the header (mm/swapfile.c swap_show), sizes in KiB. No line: no swap."""
    swaps = []
    for line in text.splitlines()[1:]:
        device, kind, size, used, priority = line.split()
        device = re.sub(r"\\([0-7]{3})", lambda escape: chr(int(escape[1], 8)), device)     # a space is \040
        swaps.append({"device": device, "type": kind, "size_kib": int(size), "used_kib": int(used),
                      "priority": int(priority), "zram": device.startswith("/dev/zram")})
    return swaps
