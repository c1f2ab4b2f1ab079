# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""MaxReadReq by PCI address: valid addresses and sizes, and the only reader of the register."""
from __future__ import annotations

import re
from typing import Any

from .._host.host import Host
from .._host.reading import UNPARSABLE, Reading
from .._pci.address import parse_address
from .._pci.device import express_of, read_config

SIZES = (128, 256, 512, 1024, 2048, 4096)       # PCI_EXP_DEVCTL_READRQ in include/uapi/linux/pci_regs.h
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)


def check_address(address: Any) -> None:
    """Raise ValueError for anything but a full PCI address."""
    if not isinstance(address, str) or _NUMBER.fullmatch(address):
        raise ValueError(f"the address {address!r} is a number: quote it in YAML")
    if parse_address(address)[0] is None:
        raise ValueError(f"name the PCI domain too: 0000:{address}")


def parse_size(value: Any) -> int:
    """Parse a MaxReadReq in bytes, a number or its digits. Raises ValueError for anything but one of SIZES.

    No other spelling is accepted, even if Python or Ansible would convert it: 512.0, 0x200, 5_12, 512 B.
    """
    text = str(value).strip("\n") if type(value) in (int, str) else None
    if text not in map(str, SIZES):
        raise ValueError(f"{value!r} is none of {', '.join(map(str, SIZES))}")
    return int(text)


def read_config_size(config: Reading) -> Reading:
    """Decode the MaxReadReq of a config space in bytes; `unparsable` for a reserved code."""
    reading = express_of(config).map(lambda express: express["max_read_request"])
    if reading.ok and reading.value is None:
        return Reading(UNPARSABLE, None, "MaxReadReq has a reserved code")
    return reading


def read(host: Host, address: str) -> Reading:
    return read_config_size(read_config(host, address))
