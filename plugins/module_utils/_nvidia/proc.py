# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Parsers of /proc/driver/nvidia. This file only parses; it reads nothing.

Formats: nv-procfs.c of github.com/NVIDIA/open-gpu-kernel-modules, kernel-open/nvidia.
"""
from __future__ import annotations

import re
from typing import NamedTuple

OPEN = "open"
PROPRIETARY = "proprietary"

_VERSION = re.compile(r"(Open )?Kernel Module\b.*?\s(\d+\.\d+(?:\.\d+)*)(?:\s|$)")


class DriverVersion(NamedTuple):
    flavour: str
    version: str


def parse_version(text: str) -> DriverVersion:
    """/proc/driver/nvidia/version: which of the two drivers it is, and its version; ValueError for other text.

    `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build ...`; the proprietary driver
    writes `NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri ...`.
    """
    for line in text.splitlines():
        found = _VERSION.search(line)
        if found is not None:
            return DriverVersion(OPEN if found[1] else PROPRIETARY, found[2])
    raise ValueError("no line with a kernel module and its version")


def parse_parameters(text: str) -> list[dict]:
    """/proc/driver/nvidia/params: `[{name, value}]`; names without NVreg_, as the driver prints them, no quotes."""
    found = []
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.append({"name": name.strip(), "value": _unquoted(value.strip())})
    return found


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


def parse_information(text: str) -> dict:
    """/proc/driver/nvidia/gpus/<bdf>/information: `{model, minor, uuid, firmware, excluded}`, None for what it omits.

    Whitespace after the colon varies. The UUID is question marks until the GPU is first used; the firmware is `N/A`
    if the GPU runs without GSP.
    """
    lines = (line.partition(":") for line in text.splitlines())
    fields = {name.strip(): value.strip() for name, _colon, value in lines}
    minor = fields.get("Device Minor", "")
    uuid = fields.get("GPU UUID", "")
    return {"model": fields.get("Model") or None, "minor": int(minor) if minor.isdecimal() else None,
            "uuid": uuid if uuid and "?" not in uuid else None, "firmware": fields.get("GPU Firmware") or None,
            "excluded": {"Yes": True, "No": False}.get(fields.get("GPU Excluded", ""))}
