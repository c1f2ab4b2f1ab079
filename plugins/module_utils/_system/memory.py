# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Memory: size, huge pages, page merging, limits of ZFS and /dev/shm, swap."""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import ABSENT, Reading, known, ok
from .._kernel.bracketed import choices, chosen
from .._kernel.device_users import read_locking, read_users
from .numa import NODE, parse_meminfo, pick

THP = "/sys/kernel/mm/transparent_hugepage"
KSM = "/sys/kernel/mm/ksm"
HUGEPAGES = "/sys/kernel/mm/hugepages"
ARCSTATS = "/proc/spl/kstat/zfs/arcstats"
ARC_MAX = "/sys/module/zfs/parameters/zfs_arc_max"


def read(host: Host, users: Reading | None = None) -> dict:
    """Read the facts' section `memory`. `users` is the result of read_users(), if already read."""
    meminfo = host.read("/proc/meminfo").map(parse_meminfo)
    return {
        "total_kib": pick(meminfo, "MemTotal"),
        "available_kib": pick(meminfo, "MemAvailable"),
        "thp": read_thp(host),
        "hugepages": known(lambda: read_hugepages(host, meminfo)),
        "ksm": read_ksm(host),
        "arc": read_arc(host),
        "shm_kib": known(lambda: host.read("/proc/mounts").map(lambda text: parse_shm(text, meminfo.value or {}))),
        "swap": host.read("/proc/swaps").map(parse_swaps),
        "locking": read_locking(host, read_users(host) if users is None else users),
    }


def read_thp(host: Host) -> dict:
    """Read the settings of Documentation/admin-guide/mm/transhuge.rst. Since kernel 6.8 each size has its own setting:
    if that of the usual size is `never`, the global one has no effect on it.

    The usual size is that of a PMD mapping (hpage_pmd_size): 2 MiB with pages of 4 KiB, 32 MiB with pages of 16 KiB,
    512 MiB with pages of 64 KiB.
    """
    enabled = host.read(f"{THP}/enabled")
    return {
        "enabled": enabled.map(chosen),
        "enabled_choices": enabled.map(choices),
        "defrag": host.read(f"{THP}/defrag").map(chosen),
        "shmem_enabled": host.read(f"{THP}/shmem_enabled").map(chosen),
        "khugepaged_defrag": host.read_int(f"{THP}/khugepaged/defrag"),
        "sizes": known(lambda: read_thp_sizes(host)),
        "pmd_kib": host.read(f"{THP}/hpage_pmd_size").map(lambda text: int(text) >> 10),
    }


def read_thp_sizes(host: Host) -> list[dict]:
    """Read the setting of every size in KiB, except sizes that only shared memory can have."""
    names = [re.fullmatch(r"hugepages-(\d{1,9})kB", name) for name in host.list(THP)]
    sizes = [{"kib": kib, "enabled": host.read(f"{THP}/hugepages-{kib}kB/enabled").map(chosen)}
             for kib in sorted(int(name[1]) for name in names if name)]
    return [size for size in sizes if size["enabled"].status != ABSENT]


def read_hugepages(host: Host, meminfo: Reading) -> Reading:
    """Read the non-empty pools of static huge pages: `[{kib, total, free, reserved, nodes: [{node, total, free}]}]`.

    Documentation/admin-guide/mm/hugetlbpage.rst. The line Hugetlb of /proc/meminfo is the total of all sizes; kernels
    before 4.16 do not have it, and HugePages_Total counts one size only.
    """
    held = pick(meminfo, "Hugetlb")
    if held.status == ABSENT:
        held = pick(meminfo, "HugePages_Total").map(lambda _of_one_size: None)
    if not held.ok or held.value == 0:
        return held.map(lambda _none: [])
    sizes = [re.fullmatch(r"hugepages-(\d{1,9})kB", name) for name in host.list(HUGEPAGES)]
    pools = [read_pool(host, kib) for kib in sorted(int(size[1]) for size in sizes if size)]
    return ok([pool for pool in pools if pool["total"] > 0])


def read_pool(host: Host, kib: int) -> dict:
    """Read the pool of one size, in pages; reserved pages belong to a mapping that has not touched them yet."""
    size = f"hugepages-{kib}kB"
    pool = _read_counts(host, f"{HUGEPAGES}/{size}",
                        {"total": "nr_hugepages", "free": "free_hugepages", "reserved": "resv_hugepages"})
    nodes = host.glob(f"{NODE}/node[0-9]*/hugepages/{size}") if pool["total"] else []
    return {"kib": kib, **pool, "nodes": [
        {"node": folder.split("/")[5], **_read_counts(host, folder, {"total": "nr_hugepages",
                                                                     "free": "free_hugepages"})}
        for folder in nodes]}


def _read_counts(host: Host, folder: str, files: dict[str, str]) -> dict[str, int]:
    read = host.read_attributes(folder, files.values())
    return {name: read[file].map(int).value or 0 for name, file in files.items()}


def read_ksm(host: Host) -> dict:
    """Read the state of page merging (Documentation/admin-guide/mm/ksm.rst); absent in a kernel built without it."""
    read = host.read_attributes(KSM, ("run", "merge_across_nodes", "pages_shared", "pages_sharing"))
    return {name: reading.map(int) for name, reading in read.items()}


def read_arc(host: Host) -> dict:
    """Read the ZFS cache in bytes: maximum (c_max), current size (size) and minimum (c_min); absent without ZFS.

    `configured` is the parameter zfs_arc_max, 0 for the built-in share of memory (man 4 zfs).
    """
    stats = host.read(ARCSTATS).map(parse_arcstats)
    return {
        "limit": pick(stats, "c_max"),
        "size": pick(stats, "size"),
        "least": pick(stats, "c_min"),
        "configured": host.read_int(ARC_MAX) if stats.ok else stats,
    }


def parse_arcstats(text: str) -> dict[str, int]:
    """Parse the lines `name type data` of a kstat; type 4 is a 64-bit number."""
    return {name: int(data) for name, data in re.findall(r"^(\w+) +4 +(\d+)$", text, re.MULTILINE)}


def parse_shm(text: str, meminfo: dict[str, int]) -> int:
    """Parse the size limit of /dev/shm in KiB from /proc/mounts. ValueError: it is not a separate tmpfs.

    The kernel prints `size=` only if it is not the default, half of all memory; 0 means no limit
    (shmem_show_options() in mm/shmem.c, Documentation/filesystems/tmpfs.rst).
    """
    options = [fields[3] for line in text.splitlines() if (fields := line.split())[1:3] == ["/dev/shm", "tmpfs"]]
    if not options:
        raise ValueError("no tmpfs is mounted on /dev/shm")
    size = re.search(r"(?:^|,)size=(\d+)k(?:,|$)", options[-1])
    total = meminfo["MemTotal"]
    return (int(size[1]) or total) if size else total // 2


def parse_swaps(text: str) -> list[dict]:
    """Parse /proc/swaps after its header (mm/swapfile.c swap_show), sizes in KiB. No line: no swap."""
    swaps = []
    for line in text.splitlines()[1:]:
        device, kind, size, used, priority = line.split()
        device = re.sub(r"\\([0-7]{3})", lambda escape: chr(int(escape[1], 8)), device)     # a space is \040
        swaps.append({"device": device, "type": kind, "size_kib": int(size), "used_kib": int(used),
                      "priority": int(priority), "zram": device.startswith("/dev/zram")})
    return swaps
