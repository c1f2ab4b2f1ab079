# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether an IOMMU translates, according to its groups rather than the command line.

/sys/kernel/iommu_groups (Documentation/ABI/testing/sysfs-kernel-iommu_groups): the folder is empty without an active
IOMMU; `type` of a group is `identity` (passed through), `DMA` or `DMA-FQ` (translated, flushed at once or lazily).
"""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import ABSENT, Reading, ok, settle

GROUPS = "/sys/kernel/iommu_groups"
MIXED = "mixed"
_OFF = frozenset(("iommu=off", "amd_iommu=off", "intel_iommu=off"))


def read(host: Host, gpus: list[dict]) -> dict:
    """Read the facts `iommu`; `gpus` are the facts of that name, whose groups decide the type."""
    groups = host.read_list(GROUPS)
    return settle({"active": lambda: _read_active(host, groups), "groups": lambda: len(groups.value or []),
                   "default_type": lambda: common_type([gpu["iommu_type"].told() for gpu in gpus])})


def _read_active(host: Host, groups: Reading) -> Reading:
    """Whether there are groups. A kernel with IOMMU support has the folder, empty without an IOMMU (iommu_init() in
    drivers/iommu/iommu.c): if it is not visible, the command line may say that the IOMMU is off.
    """
    if groups.ok:
        return ok(bool(groups.value))
    words = (host.read("/proc/cmdline").value or "").split()
    return ok(False) if _OFF.intersection(words) else groups


def common_type(types: list[Reading]) -> Reading:
    """Return the domain type that all groups share, `mixed` if they differ; absent without any."""
    if not types:
        return Reading(ABSENT, None, "no GPU, so no IOMMU group")
    readable = sorted({reading.value for reading in types if reading.ok})
    if not readable:
        return types[0]
    return ok(readable[0] if len(readable) == 1 else MIXED)
