# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Shares of a host's memory that somebody set aside."""
from __future__ import annotations

from typing import Any

from .reading import value


def memory_shares(memory: dict[str, Any], sysctl: dict[str, Any]) -> dict[str, float | None]:
    """Percent of all memory: what ZFS's cache may take, what the kernel keeps free, what lies in unused huge pages.

    A huge page is unused that is free and promised to nobody. None where one of the two numbers is not known.
    """
    total = value(memory["total_kib"])
    arc, free = value(memory["arc"]["limit"]), value(sysctl["vm.min_free_kbytes"])
    pools = value(memory["hugepages"])
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
