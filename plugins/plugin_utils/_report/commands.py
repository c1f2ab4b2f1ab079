# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The command by which a person would make a run-time change by hand."""
from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

# Device Control lies 8 bytes into the PCI Express capability, MaxReadReq in its bits 14:12 (pci_regs.h). setpci takes
# value:mask, in hexadecimal, and leaves the bits outside the mask alone.
_MAXREADREQ = "setpci -s {address} CAP_EXP+8.w={code:x}000:7000"


def command(address: str, value: Any) -> str:
    """For `sysctl:vm.swappiness` and 10: `sysctl -w vm.swappiness=10`. A least value is set as it is."""
    kind, _colon, name = address.partition(":")
    if isinstance(value, Mapping):
        value = value.get("at_least", value.get("set"))
    return _COMMANDS[kind](name, value)


def _sysctl(key: str, value: Any) -> str:
    return f"sysctl -w {shlex.quote(f'{key}={value}')}"


def _sysfs(path: str, value: Any) -> str:
    return f"echo {shlex.quote(str(value))} > {shlex.quote(path)}"


def _pcie_maxreadreq(address: str, size: int) -> str:
    return _MAXREADREQ.format(address=address, code=(size // 128).bit_length() - 1)


def _module(name: str, state: str) -> str:
    return f"{'modprobe' if state == 'present' else 'rmmod'} {shlex.quote(name)}"


_COMMANDS = {"sysctl": _sysctl, "sysfs": _sysfs, "pcie_maxreadreq": _pcie_maxreadreq, "module": _module}
