# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What a report has besides files of the host: the output of programs, by kind."""
from __future__ import annotations

import re
from typing import Any

_LOCATION = re.compile(r"^Bus Location:\s+([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2})[.:]([0-9a-fA-F]{2})\.([0-7])",
                       re.MULTILINE)


class Gathered:
    """Filled by the reader of a source, used by report_facts.finish(). `devices` and `tree` are in the form of lspci
    and pci_tree; texts are lists of lines or strings, None if the source has none."""

    def __init__(self) -> None:
        self.devices: dict[str, dict[str, Any]] = {}
        self.tree: dict[str, str | None] = {}
        self.all_devices = False
        self.dmesg: list[str] | None = None
        self.journals: dict[int, list[str]] = {}
        self.log_files: list[str] = []
        self.numactl: str | None = None
        self.dmidecode: list[str] = []
        self.uname: str | None = None
        self.date: str | None = None
        self.distribution: str | None = None
        self.flags: list[str] = []
        self.smi: str | None = None
        self.smi_missing = False
        self.machine = False            # the post is about the machine itself, wherever the programs ran
        self.units = False              # systemctl produced output: a system manager runs
        self.old_gpus: dict[str, dict[str, str]] = {}


def old_gpu_address(information: str) -> str | None:
    """`0000:04:00.0` from the line `Bus Location: 0000:04.00.0` of old drivers."""
    found = _LOCATION.search(information)
    return None if found is None else f"{int(found[1], 16):04x}:{found[2]}:{found[3]}.{found[4]}".lower()
