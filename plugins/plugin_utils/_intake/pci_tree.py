# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The bridges above each PCI device: from their secondary bus numbers, and from the tree of lspci -t."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_TOKEN = re.compile(r"\[(?:([0-9a-f]{4,8}):)?([0-9a-f]{2})(?:-[0-9a-f]{2})?\]|([01][0-9a-f]\.[0-7])")
_DRAWN = re.compile(r"[-+\\|\s.\[\]:0-9a-f]*")
_HEADER_TYPE, _BRIDGE, _SECONDARY = 0x0E, 0x01, 0x19        # PCI_HEADER_TYPE, PCI_SECONDARY_BUS of pci_regs.h
DEPTH_LIMIT = 40
PCI_BRIDGE = "0604"


def parse_tree(lines: Iterable[str]) -> dict[str, str | None]:
    """`{address: the bridge above it, None on a root bus}` from the output of lspci -t, -tv or -nntv.

    A bus in brackets lies behind the device before it; devices to the right of it are on that bus.
    """
    parents: dict[str, str | None] = {}
    buses: list[tuple[int, str, str | None]] = []       # (column, `0000:01`, the bridge it lies behind)
    domain = "0000"
    for line in lines:
        drawn = _DRAWN.match(_without_name(line))
        last: str | None = None
        for token in _TOKEN.finditer(drawn[0] if drawn else ""):
            column = token.start()
            if last is None:
                buses = [bus for bus in buses if bus[0] < column]
            if token[2] is None:
                if buses:
                    last = f"{buses[-1][1]}:{token[3]}"
                    parents.setdefault(last, buses[-1][2])
                continue
            if token[1] is not None and last is None:
                domain, buses = token[1], []
            buses.append((column, f"{domain}:{token[2]}", last))
    return parents


def _without_name(line: str) -> str:
    """A line of -v without the device's name, which follows two spaces."""
    start = len(line) - len(line.lstrip(" |"))
    return line[:start] + line[start:].partition("  ")[0]


def tree_of_registers(devices: dict[str, dict[str, Any]]) -> dict[str, str | None]:
    """The same from the secondary bus numbers of bridges.

    If not every bridge was dumped, only devices behind dumped ones are included, and those on bus 0, which is behind
    no bridge: a bridge numbers the bus below it higher than its own.
    """
    behind: dict[str, str] = {}
    all_known = True
    for bdf, device in devices.items():
        bus = secondary_bus(device)
        if bus:
            behind.setdefault(f"{bdf.partition(':')[0]}:{bus:02x}", bdf)
        elif device["class"] == PCI_BRIDGE and not device["config"]:
            all_known = False
    found = {bdf: behind.get(bdf.rpartition(":")[0]) for bdf in devices}
    return found if all_known else {bdf: bridge for bdf, bridge in found.items() if bridge or is_on_bus_0(bdf)}


def is_on_bus_0(bdf: str) -> bool:
    return bdf.split(":")[-2] == "00"


def secondary_bus(device: dict[str, Any]) -> int | None:
    config = device["config"]
    if len(config) > _SECONDARY and config[_HEADER_TYPE] & 0x7F == _BRIDGE and config[:2] != b"\xff\xff":
        return config[_SECONDARY] or None
    return device["secondary"]


def path_of(bdf: str, parents: dict[str, str | None]) -> str:
    """The kernel's path of the device: `/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0`."""
    chain = [bdf]
    while parents.get(chain[0]) and len(chain) < DEPTH_LIMIT and parents[chain[0]] not in chain:
        chain.insert(0, parents[chain[0]] or "")
    return f"/sys/devices/pci{chain[0].rpartition(':')[0]}/{'/'.join(chain)}"


def contradictions(first: dict[str, str | None], second: dict[str, str | None]) -> list[str]:
    """The devices for which two trees have different bridges."""
    return sorted(bdf for bdf in first.keys() & second.keys() if first[bdf] != second[bdf])
