# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""RDMA devices in their slots."""
from __future__ import annotations

from typing import Any

from ._derive_reading import value


def rdma_cards(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The RDMA devices whose registers decide something: with hardware, no virtual function, not a guest's.

    `expected_width`: lanes that both ends of the link have, None where the port above is not known.
    """
    found = []
    for device in facts["rdma"]["devices"]:
        if device["bdf"] is None or device["virtual_function"]:
            continue
        own, above = (((value(device[end]) or {}).get("link") or {}).get("max_width") for end in ("pcie", "port"))
        found.append({**{key: device[key] for key in ("name", "bdf", "vendor", "pcie")},
                      "expected_width": min(own, above) if own and above else None})
    return found

