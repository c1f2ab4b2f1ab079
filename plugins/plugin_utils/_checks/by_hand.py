# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Shell commands to make a runtime change by hand and to undo it."""
from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from ...module_utils._tunables.sysctl_rules import PAIRS
from .before import before
from .desired_state import is_zero

# Device Control is 8 bytes into the PCI Express capability, MaxReadReq is its bits 14:12 (pci_regs.h). setpci takes
# value:mask in hexadecimal and keeps the bits outside the mask.
_MAXREADREQ = "setpci -s {address} CAP_EXP+8.w={code:x}000:7000"
_ALIASES = dict((*PAIRS, *(pair[::-1] for pair in PAIRS)))


def command(address: str, value: Any) -> str:
    """For `sysctl:vm.swappiness` and 10: `sysctl -w vm.swappiness=10`. An at_least value is set as given."""
    kind, _colon, name = address.partition(":")
    if isinstance(value, Mapping):
        value = value.get("at_least", value.get("set"))
    return _COMMANDS[kind](name, value)


def undo(address: str, facts: Mapping[str, Any], actual: Any) -> str | None:
    """The command that restores the value that was read; None if it is not known."""
    was = before(address, facts, actual)
    kind, _colon, name = address.partition(":")
    if was is None:
        return None
    if kind == "sysctl" and name in _ALIASES and is_zero(was):
        # The kernel zeroes one alias when the other is written, so the other one was in effect.
        alias = f"sysctl:{_ALIASES[name]}"
        other = before(alias, facts, None)
        return None if other is None else command(*((address, was) if is_zero(other) else (alias, other)))
    return command(address, was)


def printable(commands: list[str]) -> list[str]:
    """The commands, or none if one contains a control character, which a terminal would interpret."""
    return commands if all(line.isprintable() for line in commands) else []


def _sysctl(key: str, value: Any) -> str:
    return f"sysctl -w {shlex.quote(f'{key}={_plain(value)}')}"


def _sysfs(path: str, value: Any) -> str:
    return f"echo {shlex.quote(_plain(value))} > {shlex.quote(path)}"


def _pcie_maxreadreq(address: str, size: int) -> str:
    return _MAXREADREQ.format(address=address, code=(size // 128).bit_length() - 1)


def _module(name: str, state: str) -> str:
    # `modprobe -r` would also unload what the module depends on.
    return f"{'modprobe' if state == 'present' else 'rmmod'} {shlex.quote(name)}"


def _plain(value: Any) -> str:
    """A sysctl's value as text; several numbers are read with tabs between them, and may be written with spaces."""
    return " ".join(str(value).split())


_COMMANDS = {"sysctl": _sysctl, "sysfs": _sysfs, "pcie_maxreadreq": _pcie_maxreadreq, "module": _module}
