# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Host memory without GPU memory, the huge page size that programs get, and shares of memory set aside."""
from __future__ import annotations

from typing import Any

from .._render.text import binary_size
from .not_recorded import NotRecorded, whole
from .reading import hidden, known, lost, value

_GRACE = "Arm Neoverse-V2"
_X86 = ("AuthenticAMD", "GenuineIntel")
_X86_PMD_KIB = 2048


def of_gpus(node: dict[str, Any], cpu: dict[str, Any]) -> bool:
    """Whether a NUMA node is GPU memory, which Linux counts as host memory on coherent systems.

    The NVIDIA driver reports it. If that is missing, a node without CPUs on a Grace processor counts as one: Grace has
    no other memory that could be a separate node. CXL or HBM nodes of other processors are host memory.
    """
    return not node["cpus"] and (node.get("gpu") is not None or cpu["model_name"] == _GRACE)


def gpu_memory_kib(facts: dict[str, Any]) -> int:
    """KiB of MemTotal that belong to GPUs; on x86 always none, since no GPU memory is coherent there."""
    try:
        return sum(value(node["memory_kib"]) or 0 for node in facts["numa"]["nodes"] if of_gpus(node, facts["cpu"]))
    except NotRecorded:
        if facts["cpu"]["vendor"] in _X86:
            return 0
        raise


def host_memory_kib(facts: dict[str, Any]) -> int | None:
    """MemTotal without GPU memory, in KiB; None if not known."""
    total = value(facts["memory"]["total_kib"])
    return None if total is None else max(total - gpu_memory_kib(facts), 0)


def usual_huge_page(thp: dict[str, Any]) -> dict[str, Any]:
    """The huge page that programs get: `{kib, size, choice}`, readings of its size and its own setting.

    2 MiB if the kernel is too old to report it; the setting is absent before kernel 6.8.
    """
    status = hidden((thp["pmd_kib"],))
    if status:
        return {"kib": lost(status), "size": lost(status), "choice": lost(status)}
    kib = value(thp["pmd_kib"]) or _X86_PMD_KIB
    choice = next((size["enabled"] for size in thp["sizes"] if size["kib"] == kib), lost("absent"))
    return {"kib": known(kib), "size": known(binary_size(kib << 10)), "choice": choice}


def memory_shares(memory: dict[str, Any], sysctl: dict[str, Any], total: int | None) -> dict[str, float | None]:
    """Percent of the host's memory (`total` KiB): the limit of ZFS's cache, what the kernel keeps free, and unused huge
    pages.

    A huge page is unused if it is free and not reserved. None if one of the two numbers is not known.
    """
    arc, free = value(memory["arc"]["limit"]), value(sysctl["vm.min_free_kbytes"])
    pools = value(memory["hugepages"])
    whole(total)
    unused = None if pools is None else sum((pool["free"] - pool["reserved"]) * pool["kib"] for pool in pools)
    return {
        "arc_percent": _percent(None if arc is None else arc >> 10, total),
        "min_free_percent": _percent(int(free) if free is not None and free.isdecimal() else None, total),
        "unused_hugepages_percent": _percent(unused, total),
        "unused_hugepages_mib": None if unused is None else unused >> 10,
    }


def _percent(part: int | None, total: int | None) -> float | None:
    return None if part is None or not total else round(100 * part / total, 1)


def static_pools(memory: dict[str, Any]) -> str | None:
    """The pools of static huge pages in words: `512 of 1024 pages of 2048 KiB are free`."""
    pools = value(memory["hugepages"])
    if not pools:
        return None
    return ", ".join(f"{pool['free'] - pool['reserved']} of {pool['total']} pages of {pool['kib']} KiB are free"
                     for pool in pools)
