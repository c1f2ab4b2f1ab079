# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""PCIe links of RDMA devices, and packets dropped because a CPU's receive queue was full."""
from __future__ import annotations

from typing import Any

from .faults.fabric import manages_nvswitches
from .reading import value


def rdma_cards(facts: dict[str, Any], gpus: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The RDMA devices whose PCIe registers are checked: hardware, no virtual function, not a guest's, and not a
    management function of NVSwitches.

    `expected_width`: lanes that both ends of the link have, None if the port above is not known.
    """
    found = []
    for device in facts["rdma"]["devices"]:
        if device["bdf"] is None or device["virtual_function"] or manages_nvswitches(device, facts, gpus):
            continue
        found.append({**{key: device[key] for key in ("name", "bdf", "vendor", "pcie")},
                      "expected_width": expected_width(device)})
    return found


def expected_width(device: dict[str, Any]) -> int | None:
    """Lanes that both ends of an RDMA device's link have, None if one is not known."""
    own, above = (((value(device[end]) or {}).get("link") or {}).get("max_width") for end in ("pcie", "port"))
    return min(own, above) if own and above else None


def dropped_per_million(network: dict[str, Any]) -> float | None:
    """Packets dropped because a CPU's queue was full, per million received; None if not known."""
    backlog = value(network["backlog"])
    if backlog is None:
        return None
    came = backlog["received"] + backlog["dropped"]
    return round(1e6 * backlog["dropped"] / came, 1) if came else 0.0
