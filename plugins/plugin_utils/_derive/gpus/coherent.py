# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""GPUs that access their processor's memory not over PCI Express: their PCIe link carries little data.

They are recognised by PCI device id (the PCI ID Repository) or, if the driver reports it, by model.
"""
from __future__ import annotations

import re
from typing import Any

from ..not_recorded import NotRecorded

# GH200 in three sizes of memory, GB200, GB300.
_C2C_IDS = ("2342", "2345", "2348", "2941", "31c2")
_C2C = re.compile(r"\b(GH200|GB200|GB300)\b")
# GB20B: GB10 of the DGX Spark and similar systems.
_SOC_IDS = ("2e03", "2e06", "2e12", "2e13")
_SOC = re.compile(r"\b(GB10|Orin|Thor)\b")
# Always cards, whatever the model: these generations, and the Blackwell id blocks of GB202 to GB207.
_OF_CARDS = ("maxwell", "pascal", "volta", "turing", "ampere", "ada")
_BLOCKS_OF_CARDS = ((0x2B80, 0x2DFF), (0x2F00, 0x2F7F))


def joined_by_c2c(gpu: dict[str, Any]) -> bool:
    return gpu["vendor"] == "10de" and (gpu["device"] in _C2C_IDS or _C2C.search(_model(gpu)) is not None)


def _model(gpu: dict[str, Any]) -> str:
    """The model; if a recording lacks it, an empty value for a GPU that is a card by its id alone."""
    try:
        return gpu["model"] or ""
    except NotRecorded:
        if _is_card(gpu):
            return ""
        raise


def _is_card(gpu: dict[str, Any]) -> bool:
    """Whether the GPU is a card whatever its model."""
    if gpu["generation"] in _OF_CARDS:
        return True
    number = int(gpu["device"] or "0", 16)
    return any(first <= number <= last for first, last in _BLOCKS_OF_CARDS)


def coherent(gpu: dict[str, Any]) -> str | None:
    """Why a GPU's PCI Express link is not checked; None for a card, whose data uses that link."""
    if gpu["vendor"] != "10de":
        return None
    if joined_by_c2c(gpu):
        return "the GPU is connected to its processor by NVLink-C2C: its PCI Express link is not used for data"
    if gpu["device"] in _SOC_IDS or _SOC.search(_model(gpu)):
        return "the GPU is integrated with its processor: its PCI Express link is not used for data"
    return None
