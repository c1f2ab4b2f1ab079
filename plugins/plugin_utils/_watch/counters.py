# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Counters of a host since boot, and momentary observations, from its facts."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from .._checks.findings import value

# Clock reasons of nvidia-smi that indicate a problem; a software power cap is set by the user.
_SLOWDOWNS = frozenset(("hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown"))
# Corrected errors of a link that retransmitted: REPLAY_NUM Rollover and Replay Timer Timeout of the AER capability.
_REPLAYS = ("Rollover", "Timeout")
WORDS = {"corrected_errors": "corrected PCIe errors (AER)", "link_replays": "packets sent again on a PCIe link (AER)",
         "xids": "Xid errors", "memory_corrected": "corrected memory errors (EDAC)"}


def counters(facts: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """`{kind: {place: number}}`; places whose counter was not read are left out."""
    found: dict[str, dict[str, int]] = {kind: {} for kind in WORDS}
    for device in (*facts["gpus"], *facts["ports"]):
        errors = value(device["aer"])
        if errors:
            found["corrected_errors"][device["bdf"]] = errors["correctable"]
            found["link_replays"][device["bdf"]] = sum(errors["details"].get(name, 0) for name in _REPLAYS)
    found["memory_corrected"] = {one["controller"]: number for one in value(facts["ras"]["controllers"], [])
                                 if (number := value(one["correctable"])) is not None}
    xids = value(facts["nvidia"]["xids"])
    if xids is not None:
        # A GPU without errors has no count: it appears in the log with its first one.
        found["xids"] = {gpu["bdf"]: 0 for gpu in facts["gpus"] if gpu["vendor"] == "10de"}
        found["xids"] |= {f"{bdf}.0": number for bdf, number in Counter(one["bdf"] for one in xids).items()}
    return found


def slowed(facts: Mapping[str, Any]) -> dict[str, list[str]]:
    """GPUs that are slowed down now, with the reasons."""
    found = {gpu["bdf"]: sorted(_SLOWDOWNS & set(gpu["clock_reasons"] or ())) for gpu in facts["nvidia"]["smi"]["gpus"]}
    return {bdf: reasons for bdf, reasons in found.items() if reasons}


def retrained(facts: Mapping[str, Any]) -> dict[str, list[int]]:
    """GPUs whose link changed speed or width while it was sampled: `[changes, samples]`."""
    samples = {gpu["bdf"]: gpu["link_samples"] for gpu in facts["gpus"] if gpu["link_samples"]}
    return {bdf: [one["changes"], one["looks"]] for bdf, one in samples.items() if one["changes"]}
