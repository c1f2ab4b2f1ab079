# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""PCIe Advanced Error Reporting (AER) counters on the path of a GPU."""
from __future__ import annotations

from typing import Any

from ..reading import value

AER_FACTS = ("aer_fatal", "aer_nonfatal", "aer_correctable", "aer_counted", "aer_uncorrectable", "aer_ports")


def aer_facts(devices: list[dict]) -> dict[str, Any]:
    """AER counters since boot, summed over a GPU and its path: the link partner sees errors that the GPU does not."""
    there = [device["aer"] for device in devices if device["aer"]["status"] != "absent"]
    read = [(device["bdf"], counters) for device in devices if (counters := value(device["aer"]))]
    kinds = ("fatal", "nonfatal", "correctable")
    sums = {f"aer_{kind}": sum(counters[kind] for _bdf, counters in read) if read else None for kind in kinds}
    uncorrectable = (sums["aer_fatal"] or 0) + (sums["aer_nonfatal"] or 0)
    # Zeros prove nothing if some counters could not be read.
    return {**sums, "aer_counted": bool(there),
            "aer_uncorrectable": uncorrectable if uncorrectable or len(read) == len(there) > 0 else None,
            "aer_ports": [bdf for bdf, counters in read if any(counters[kind] for kind in kinds)]}
