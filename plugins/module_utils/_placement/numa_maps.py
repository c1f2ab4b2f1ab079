# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The NUMA nodes that hold the huge pages of a process: /proc/<pid>/numa_maps (man 5 numa).

Cgroups count them only with the hugetlb controller, which no unit of Proxmox VE has. For each line the kernel walks the
page tables, about 10 ms per GiB of small pages. So the file is read only for VMs with huge pages, which have few small
ones, and only up to a limit of bytes and seconds.
"""
from __future__ import annotations

import re

from .._host.asked import ask_each
from .._host.host import Host
from .._host.reading import UNPARSABLE, Reading, ok

BYTE_LIMIT = 1 << 20
TIME_LIMIT = 2.0        # seconds
_PAGE_SIZE = re.compile(r"\bkernelpagesize_kB=(\d{1,9})\b")
_NODE = re.compile(r"\bN(\d{1,5})=(\d{1,15})\b")


def read_huge_pages(host: Host, pid: int) -> Reading:
    """KiB of huge pages by node, `{node: KiB}`."""
    path = f"/proc/{pid}/numa_maps"

    def look(_name: str) -> list:
        text = host.read(path, BYTE_LIMIT)
        return [text.status, text.value, text.detail]

    if not host.live:
        return _parsed(host.read(path, BYTE_LIMIT))
    answer = ask_each(host, ["maps"], look, TIME_LIMIT)["maps"]
    return Reading(UNPARSABLE, None, answer) if isinstance(answer, str) else _parsed(Reading(*answer))


def _parsed(text: Reading) -> Reading:
    if text.ok and len(text.value.encode()) >= BYTE_LIMIT - 1:
        return Reading(UNPARSABLE, None, f"numa_maps is longer than {BYTE_LIMIT} bytes")
    return text.map(parse_numa_maps) if text.ok else Reading(text.status, None, text.detail)


def parse_numa_maps(text: str) -> dict[int, int]:
    """KiB of huge pages by node; counts are in pages of the size that the line gives.

    `7f... bind:0 file=/dev/hugepages/... huge dirty=64 N0=64 kernelpagesize_kB=1048576`
    """
    found: dict[int, int] = {}
    for line in text.splitlines():
        size = _PAGE_SIZE.search(line)
        if " huge" not in line or size is None:
            continue
        for node, pages in _NODE.findall(line):
            found[int(node)] = found.get(int(node), 0) + int(pages) * int(size[1])
    return found


def with_huge_pages(memory: Reading, huge: Reading) -> Reading:
    """The table of parse_numa_stat() with huge pages added; if those are unknown, the whole table is."""
    if not memory.ok or not huge.ok:
        return memory if not memory.ok else huge
    rows = {row["node"]: row for row in memory.value}
    empty = {"anon_kib": 0, "shmem_kib": 0, "file_kib": 0}
    return ok([{**rows.get(node, {"node": node, **empty}), "hugetlb_kib": huge.value.get(node, 0)}
               for node in sorted({*rows, *huge.value})])
