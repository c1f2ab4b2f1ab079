# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Comparison of identical GPUs with each other: the majority is the reference, no golden file is needed."""
from __future__ import annotations

from collections import Counter
from typing import Any

from ..not_recorded import Gap, NotRecorded, recorded
from ..reading import value

_REGISTERS = {
    "max_read_request": "MaxReadReq", "max_payload": "MaxPayload", "relaxed_ordering": "relaxed ordering",
    "extended_tags": "extended tags", "ten_bit_tags": "10-bit tags", "no_snoop": "No Snoop",
    "completion_timeout": "completion timeout", "completion_timeout_disabled": "Completion Timeout Disable",
}
_LINK = {"width": "link width", "max_width": "possible link width", "max_speed_gts": "possible link speed",
         "aspm": "ASPM"}
_DEVICE = {"largest_bar": "largest BAR", "memory_mib": "memory", "gsp_firmware": "GSP firmware",
           "iommu_type": "IOMMU domain type"}
_OF_NVIDIA = {"power_limit_w": "power limit in watts", "ecc": "ECC", "mig": "multi-instance mode",
              "persistence": "persistence mode", "vbios": "VBIOS"}
_OF_AMD = {"performance_level": "performance level", "compute_partition": "compute partition",
           "memory_partition": "memory partition", "xgmi_hive": "xGMI hive"}
_NAMES = {**_REGISTERS, **_LINK, "slot_speed_gts": "link speed its slot allows", **_DEVICE, **_OF_NVIDIA, **_OF_AMD}


def compare_alike(gpus: list[dict]) -> list[dict]:
    """The groups of GPUs with the same vendor and device; adds `same_model` and `differs` to every GPU.

    A group's `differs` has each fact that differs between its members, the majority's value (None without a majority)
    and the GPUs that deviate. GPUs that belong to guests, sleep or are gone are not compared. Raises NotRecorded if the
    model of one is not recorded.
    """
    members: dict[str, list[dict]] = {}
    keys = [recorded(lambda gpu=gpu: f"{gpu['vendor']}:{gpu['device']}") for gpu in gpus]
    gap = next((key for key in keys if isinstance(key, Gap)), None)
    if gap is not None:     # it may be identical to any other
        for gpu in gpus:
            gpu["derived"].update(same_model=gap, differs=gap)
        raise NotRecorded(gap.why)
    for gpu, key in zip(gpus, keys):
        members.setdefault(key, []).append(gpu)
    groups = []
    for key, alike in members.items():
        differs = recorded(lambda alike=alike: _differences(alike))
        for gpu in alike:
            gpu["derived"]["same_model"] = len(alike)
            gpu["derived"]["differs"] = recorded(lambda bdf=gpu["bdf"], differs=differs: [
                _sentence(entry, odd["value"]) for entry in differs for odd in entry["odd"] if odd["bdf"] == bdf])
        groups.append({"key": key, "bdfs": [gpu["bdf"] for gpu in alike], "differs": differs})
    return groups


def _differences(alike: list[dict]) -> list[dict[str, Any]]:
    compared = [gpu for gpu in alike if gpu["state"] == "ok" and gpu["derived"]["left_alone"] is None]
    return [entry for fact in _NAMES if (entry := _disagreement(fact, compared))]


def _disagreement(fact: str, gpus: list[dict]) -> dict[str, Any] | None:
    values = {gpu["bdf"]: seen for gpu in gpus if (seen := _fact(fact, gpu)) is not None}
    counts = Counter(values.values()).most_common()
    if len(counts) < 2:
        return None
    majority = counts[0][0] if counts[0][1] > counts[1][1] else None
    return {"fact": fact, "majority": majority,
            "odd": [{"bdf": bdf, "value": seen} for bdf, seen in values.items() if seen != majority]}


def _fact(fact: str, gpu: dict) -> Any:
    if fact == "slot_speed_gts":
        return gpu["derived"]["expected_speed_gts"]
    if fact == "width":
        return _width(gpu["derived"])
    if fact in _DEVICE:
        seen = gpu[fact]
        return value(seen) if isinstance(seen, dict) else seen
    if fact in _OF_NVIDIA:
        seen = gpu["derived"]["nvidia_smi"]["value"]
        return seen and seen[fact]
    if fact in _OF_AMD:
        return value(gpu["amd"][fact]) if gpu["amd"] else None
    registers = value(gpu["pcie"])
    if registers is None:
        return None
    return registers[fact] if fact in _REGISTERS else (registers["link"] or {}).get(fact)


def _width(derived: dict[str, Any]) -> int | None:
    """The lanes of a link, None if an idle GPU may have reduced them: busy ones of the same model use all of theirs."""
    whole = derived["seen_width"] == derived["expected_width"]
    return derived["seen_width"] if derived["width_sure"] or whole else None


def _sentence(entry: dict[str, Any], seen: Any) -> str:
    name = _NAMES[entry["fact"]]
    if entry["majority"] is None:
        # Without a majority, every GPU that was compared is among them.
        counts = Counter(odd["value"] for odd in entry["odd"])
        others = ", ".join(f"{_shown(other)} on {count}" for other, count in counts.items() if other != seen)
        return f"{name} is {_shown(seen)} on {counts[seen]} of {len(entry['odd'])} GPUs of this model, {others}"
    return f"{name} is {_shown(seen)}, of the others {_shown(entry['majority'])}"


def _shown(seen: Any) -> str:
    return {True: "on", False: "off"}.get(seen, str(seen)) if isinstance(seen, bool) else str(seen)
