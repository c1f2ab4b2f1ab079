# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse configuration spaces from the output of lspci -xxx and -xxxx."""
from __future__ import annotations

import re

_DEVICE = re.compile(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ")
_LINE = re.compile(r"[0-9a-f]{2,3}:((?: [0-9a-f]{2}){1,16})\s*$")


def parse_dump(text):
    """`{address: bytes}` of the output of lspci -xxx or -xxxx."""
    spaces, address = {}, None
    for line in text.splitlines():
        device, data = _DEVICE.match(line), _LINE.match(line)
        if device:
            address = device[1]
            spaces[address] = b""
        elif data and address:
            spaces[address] += bytes.fromhex(data[1])
    return spaces
