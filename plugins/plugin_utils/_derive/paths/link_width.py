# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The lanes of a GPU's link: current width, what both ends support, and how certain it is that lanes are missing.

An idle GPU may reduce lanes as well as speed (NVIDIA, nvidia-smi manual: PCIe Generation and Link Width may be reduced
when the GPU is not in use), so a narrow link is certain only under load, or if each of several samples shows it.
"""
from __future__ import annotations

from typing import Any

from ..reading import value

WIDTH_FACTS = ("seen_width", "width_sure", "width_ends", "width_seen_how")


def width_facts(gpu: dict[str, Any], above: list[dict], idle: bool | None, load: str | None) -> dict[str, Any]:
    """`{seen_width, width_sure, width_ends, width_seen_how}`; `above` are the ports above the GPU, the nearest first.

    Under load the narrowest of all samples counts, else the widest: a link that has reached a width supports it.
    """
    own, samples = _link(gpu), gpu["link_samples"]
    if own is None:
        return {"seen_width": None, "width_sure": False, "width_ends": None, "width_seen_how": None}
    busy = idle is False
    looked = [own["width"]] + ([samples["min_width" if busy else "max_width"]] if samples else [])
    several = bool(samples) and samples["looks"] > 1
    return {"seen_width": (min if busy else max)(looked), "width_sure": busy or several,
            "width_ends": _ends(gpu, own, above), "width_seen_how": _how(busy, samples if several else None, load)}


def _link(device: dict[str, Any]) -> dict[str, Any] | None:
    registers = value(device["pcie"])
    return registers and registers["link"]


def _ends(gpu: dict[str, Any], own: dict[str, Any], above: list[dict]) -> str:
    """Both ends by address, with the lanes that each has."""
    slot = _link(above[0]) if above else None
    upper = f" and {above[0]['bdf']} (x{slot['max_width']})" if slot else ""
    return f"{gpu['bdf']} (x{own['max_width']}){upper}"


def _how(busy: bool, samples: dict[str, Any] | None, load: str | None) -> str:
    parts = [f"under load: {load}"] if busy else []
    parts += [f"in each of {samples['looks']} samples"] if samples and not busy else []
    return ", ".join(parts) or f"idle, or no load detected{f' ({load})' if load else ''}, when a GPU may reduce lanes"
