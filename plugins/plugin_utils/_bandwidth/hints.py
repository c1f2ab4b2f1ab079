# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Possible causes of a slow copy, from the facts of a host. They are hints, not proof."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._derive.reading import value
from .expected import Pair

_FEW_BYTES = 512        # per read request; with smaller ones a GPU may need more outstanding requests than it has
_WITHIN_A_SWITCH = "same switch"


def of_gpu(one: Mapping[str, Any], gpu: Mapping[str, Any] | None, reads: bool) -> list[str]:
    """`one` is the module's result for a GPU, `gpu` its facts; `reads` if its reads of host memory are slow."""
    hints = ["the host memory was not on its NUMA node"] if one.get("bound") is False else []
    registers = value(gpu["pcie"]) if gpu else None
    if not registers or not reads:
        return hints
    if registers["extended_tags_supported"] and not registers["extended_tags"]:
        hints.append("it is limited to 32 outstanding reads (check pcie_extended_tags)")
    size = registers["max_read_request"]
    if size is not None and size < _FEW_BYTES:
        hints.append(f"MaxReadReq is {size} bytes (check pcie_maxreadreq)")
    return hints


def of_pair(pair: Pair) -> list[str]:
    hints = []
    # Transfers between GPUs without a common switch pass the root anyway.
    if pair.redirect and (pair.path == _WITHIN_A_SWITCH or pair.translated):
        hints.append(f"transfers are redirected to the root complex at {', '.join(pair.redirect)} (check iommu_acs)")
    if pair.translated:
        hints.append("the IOMMU translates them (check iommu_acs)")
    if pair.path != _WITHIN_A_SWITCH:
        hints.append("they go through the root complex, which may be slower than the links")
    return hints
