# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The link capability of a GPU itself: on some GPUs the register for it (LnkCap) follows the slot."""
from __future__ import annotations

import math
from typing import Any

from ..not_recorded import Gap

_NVIDIA = "10de"
_SPEEDS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}      # GT/s by PCIe generation
# Maximum GT/s of the cards of each generation (NVIDIA's architecture whitepapers); their registers show less in a
# slower slot.
_SPEED_OF_GENERATION = {"maxwell": 8.0, "pascal": 8.0, "volta": 8.0, "turing": 8.0, "ampere": 16.0, "ada": 16.0,
                        "hopper": 32.0, "blackwell": 32.0}
FOLLOWS_THE_SLOT = ("what the GPU itself can do is not known: its register (LnkCap) follows the slot, and nvidia-smi "
                    "does not say (Device Max)")


def as_the_device_can(own: dict[str, Any] | None, gpu: dict[str, Any], smi: dict[str, Any]) -> dict[str, Any] | None:
    """The link with the GPU's own maximum speed.

    LnkCap of some GPUs follows the slot; nvidia-smi reports the device's maximum
    (nvmlDeviceGetGpuMaxPcieLinkGeneration()), which is limited here to that of the generation."""
    told = not isinstance(smi, Gap)
    if not own or gpu["vendor"] != _NVIDIA or (not told and own["max_speed_gts"] >= _speed_of_generation(gpu)):
        return own
    return {**own, "max_speed_gts": max(own["max_speed_gts"], _device_max(gpu["bdf"], smi) or 0)}


def reaches(own: dict[str, Any] | None, slot: dict[str, Any] | None) -> bool:
    """Whether a GPU supports its slot's speed and width, by its register alone."""
    return bool(own and slot) and own["max_speed_gts"] >= slot["max_speed_gts"]


def _device_max(bdf: str, smi: dict[str, Any]) -> float | None:
    """The device's maximum in GT/s by nvidia-smi; None if it does not answer or report it."""
    seen = next((one for one in smi["gpus"] if one["bdf"] == bdf), None)
    return _SPEEDS.get(seen.get("device_max_gen")) if seen else None


def knows_its_best(gpu: dict[str, Any], own: dict[str, Any], smi: dict[str, Any]) -> bool:
    """Whether the highest speed in a GPU's own register is the GPU's maximum: nvidia-smi reports it, or it is that of
    the generation."""
    if gpu["vendor"] != _NVIDIA or own["max_speed_gts"] >= _speed_of_generation(gpu):
        return True
    return _device_max(gpu["bdf"], smi) is not None


def _speed_of_generation(gpu: dict[str, Any]) -> float:
    return _SPEED_OF_GENERATION.get(gpu["generation"], math.inf)
