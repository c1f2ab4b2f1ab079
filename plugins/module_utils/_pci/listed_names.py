# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The names of devices in a host that was made of a listing of lspci without -n, and what they tell of a GPU.

The PCI ID Repository (https://pci-ids.ucw.cz) names an NVIDIA GPU by its chip and its product,
`GH100 [H100 SXM5 80GB]`, and the first letters of the chip stand for the architecture: see nvidia_ids.py.
"""
from __future__ import annotations

import json
import re

from .._host.host import Host
from .._host.reading import known

FILE = "lspci-names.json"
_CHIP = re.compile(r"\b(GM|GP|GV|TU|GA|GH|AD|GB|GR)[12]\d[\dB][A-Z]{0,3}\b")
_ARCHITECTURES = {"GM": "maxwell", "GP": "pascal", "GV": "volta", "TU": "turing", "GA": "ampere", "GH": "hopper",
                  "AD": "ada", "GB": "blackwell", "GR": "rubin"}


def read_names(host: Host) -> dict[str, str]:
    """`{address: name}`; empty for a live host, and for a recording in which devices have numbers."""
    if host.live:
        return {}
    names = known(lambda: host.recorded(FILE).map(json.loads).value)
    if not isinstance(names, dict):
        return {}
    return {address: name for address, name in names.items() if isinstance(name, str)}


def architecture_of_name(name: str | None) -> str | None:
    """`hopper` for `NVIDIA Corporation GH100 [H100 NVL]`; None for a name without a chip."""
    chip = _CHIP.search(name or "")
    return _ARCHITECTURES[chip[1]] if chip else None
