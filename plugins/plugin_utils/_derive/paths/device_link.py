# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What a GPU's own end of its link can do: the register that should say so (LnkCap) follows the slot on some."""
from __future__ import annotations

import math
from typing import Any

from ..not_recorded import Gap

_NVIDIA = "10de"
_SPEEDS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}      # GT/s of a generation
# GT/s that the cards of a generation can do at most (NVIDIA's architecture whitepapers); their registers show less in a
# slot that can do less.
_SPEED_OF_GENERATION = {"maxwell": 8.0, "pascal": 8.0, "volta": 8.0, "turing": 8.0, "ampere": 16.0, "ada": 16.0,
                        "hopper": 32.0, "blackwell": 32.0}
FOLLOWS_THE_SLOT = ("what the GPU itself can do is not known: its register (LnkCap) follows the slot, and nvidia-smi "
                    "does not say (Device Max)")


def as_the_device_can(own: dict[str, Any] | None, gpu: dict[str, Any], smi: dict[str, Any]) -> dict[str, Any] | None:
    """The link with the speed that the GPU itself can do: LnkCap of some follows the slot, and nvidia-smi tells the
    device's own maximum (nvmlDeviceGetGpuMaxPcieLinkGeneration()), which is not more than its generation has."""
    told = not isinstance(smi, Gap)
    if not own or gpu["vendor"] != _NVIDIA or (not told and own["max_speed_gts"] >= _speed_of_generation(gpu)):
        return own
    return {**own, "max_speed_gts": max(own["max_speed_gts"], _device_max(gpu["bdf"], smi) or 0)}


def reaches(own: dict[str, Any] | None, slot: dict[str, Any] | None) -> bool:
    """Whether a GPU can do what its slot does, by its register alone."""
    return bool(own and slot) and own["max_speed_gts"] >= slot["max_speed_gts"]


def _device_max(bdf: str, smi: dict[str, Any]) -> float | None:
    """GT/s that nvidia-smi calls the maximum of the device; None where it does not answer or not say."""
    seen = next((one for one in smi["gpus"] if one["bdf"] == bdf), None)
    return _SPEEDS.get(seen.get("device_max_gen")) if seen else None


def knows_its_best(gpu: dict[str, Any], own: dict[str, Any], smi: dict[str, Any]) -> bool:
    """Whether the highest speed in a GPU's own register is all that the GPU can do: nvidia-smi says so, or the register
    has what its generation can."""
    if gpu["vendor"] != _NVIDIA or own["max_speed_gts"] >= _speed_of_generation(gpu):
        return True
    return _device_max(gpu["bdf"], smi) is not None


def _speed_of_generation(gpu: dict[str, Any]) -> float:
    return _SPEED_OF_GENERATION.get(gpu["generation"], math.inf)
