# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether a translating IOMMU is a fault on this host, and the kernel parameter that disables translation.

iommu=pt is x86 only, iommu.passthrough=1 works on every architecture (Linux, kernel-parameters.txt). On hosts with
NVIDIA's own processors NVIDIA recommends IOMMU on and passthrough off (GPUDirect Storage, Best Practices Guide).
"""
from __future__ import annotations

from typing import Any

from ..reading import value

_NVIDIA = "10de"


def translation(facts: dict[str, Any]) -> dict[str, Any]:
    """`{wanted, parameter}`: whether NVIDIA wants the IOMMU to translate here, and the parameter to disable it."""
    return {"wanted": translation_is_wanted(facts),
            "parameter": "iommu=pt" if facts["cpu"]["vendor"] else "iommu.passthrough=1"}


def translation_is_wanted(facts: dict[str, Any]) -> bool:
    """Whether this is Grace or one of its successors on a chip: their root ports are NVIDIA's."""
    return any(port["vendor"] == _NVIDIA and (value(port["pcie"]) or {}).get("type") == "root_port"
               for port in facts["ports"])


def translates(iommu_type: dict[str, Any]) -> bool | None:
    """DMA and DMA-FQ domains translate (Documentation/ABI/testing/sysfs-kernel-iommu_groups); no group: no IOMMU."""
    if iommu_type["status"] == "absent":
        return False
    kind = value(iommu_type)
    return None if kind is None else kind.startswith("DMA")
