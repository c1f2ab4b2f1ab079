# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Parse the output of lspci with or without -n, -v, -vv and -x: pciutils, lspci.c, ls-caps.c, ls-ecaps.c."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ...module_utils._pci.address import kernel_address
from ...module_utils._pci.capabilities import PCI_CFG_SPACE_SIZE
from .lspci_names import class_of_name, device_of_name, vendor_of_name

CONFIG_LIMIT = 4096
NO_ANSWER = "ff"        # as revision: lspci read all ones, as it does of every register of a device that is gone
DEVICES_LIMIT = 10_000

_HEADER = re.compile(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7]) (.*)")
_NUMBERS = re.compile(r"([0-9a-f]{4}): ([0-9a-f]{4}):([0-9a-f]{4})(?: |$)(.*)")           # -n
# Printed by nvidia-bug-report.sh if lspci is not installed.
_SYSFS = re.compile(r"([0-9a-f]{6}): Vendor ([0-9a-f]{4}) Device ([0-9a-f]{4}) \(rev ([0-9a-f]{2})\)")
_NAMES = re.compile(r"(.*?)(?: \[([0-9a-f]{4})\])?: (.*)")                                 # without -n, and -nn
_IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\](?!.*\[[0-9a-f]{4}:[0-9a-f]{4}\])")
_UNNAMED = re.compile(r"\bDevice ([0-9a-f]{4})$")      # devices that are not in pci.ids
_REVISION = re.compile(r"\(rev ([0-9a-f]{2})\)")
_PROG_IF = re.compile(r"\(prog-if ([0-9a-f]{2})\b")
_HEX = re.compile(r"([0-9a-f]{2,3}): ((?:[0-9a-f]{2} ){0,15}[0-9a-f]{2}) *")
_SUBSYSTEM = re.compile(r"Subsystem: .*?(?:\[)?([0-9a-f]{4}):([0-9a-f]{4})\]?$")
_BUSES = re.compile(r"Bus: primary=[0-9a-f]{2}, secondary=([0-9a-f]{2}), subordinate=[0-9a-f]{2}")


def empty_device(bdf: str) -> dict[str, Any]:
    """A device without any data; `detail` are the lines below its first one, without indent."""
    return {"bdf": bdf, "class": None, "vendor": None, "device": None, "revision": None, "prog_if": None,
            "name": None, "subsystem": None, "driver": None, "numa_node": None, "iommu_group": None,
            "secondary": None, "config": b"", "detail": [], "denied": False}


def parse_devices(lines: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Devices by address, in the order of the listing; see empty_device() for the keys.

    IDs are hexadecimal without 0x, `class` has four digits; `config` are the dumped bytes from offset 0; `denied`:
    lspci was not permitted to read the capabilities.
    """
    devices: dict[str, dict[str, Any]] = {}
    device = None
    for line in lines:
        header = _HEADER.match(line)
        if header is not None:
            device = _take_header(devices, header[1], header[2])
        elif device is not None:
            _take_line(device, line)
    for device in devices.values():
        if device["revision"] == NO_ANSWER and not device["config"]:
            device["config"] = b"\xff" * PCI_CFG_SPACE_SIZE
    return devices


def _take_header(devices: dict[str, dict], text: str, rest: str) -> dict | None:
    bdf = kernel_address(text)
    if bdf is None or len(devices) >= DEVICES_LIMIT:
        return None
    found = empty_device(bdf)
    found.update(_parse_ids(rest))
    merge_device(devices.setdefault(bdf, found), found)
    return devices[bdf]


def _parse_ids(rest: str) -> dict[str, Any]:
    revision, prog_if = _REVISION.search(rest), _PROG_IF.search(rest)
    found = {"revision": revision and revision[1], "prog_if": prog_if and prog_if[1]}
    sysfs = _SYSFS.match(rest)
    if sysfs is not None:
        return {"class": sysfs[1][:4], "prog_if": sysfs[1][4:], "vendor": sysfs[2], "device": sysfs[3],
                "revision": sysfs[4]}
    numbers = _NUMBERS.fullmatch(rest)
    if numbers is not None:
        return {**found, "class": numbers[1], "vendor": numbers[2], "device": numbers[3]}
    names = _NAMES.match(rest)
    if names is None:
        return found
    ids = _IDS.search(names[3])
    name = (names[3][:ids.start()] if ids else names[3].partition(" (rev ")[0].partition(" (prog-if ")[0]).strip()
    vendor = ids[1] if ids else vendor_of_name(name)
    return {**found, "class": names[2] or class_of_name(names[1]), "vendor": vendor,
            "device": ids[2] if ids else (unnamed[1] if (unnamed := _UNNAMED.search(name)) else device_of_name(name)),
            "name": name or None}


def _take_line(device: dict, line: str) -> None:
    dump = _HEX.fullmatch(line)
    if dump is not None:
        piece = bytes.fromhex(dump[2])
        # Only contiguous lines: after a missing line, all that follows would be shifted.
        if int(dump[1], 16) == len(device["config"]) and len(device["config"]) + len(piece) <= CONFIG_LIMIT:
            device["config"] += piece
    elif line[:1] in (" ", "\t") and line.strip():
        _take_detail(device, line)


def _take_detail(device: dict, line: str) -> None:
    text = line.strip()
    device["detail"].append(text)
    name, colon, value = text.partition(": ")
    if not colon:
        return
    if name == "Subsystem":
        found = _SUBSYSTEM.match(text)
        device["subsystem"] = device["subsystem"] or (found and (found[1], found[2]))
    elif name == "Kernel driver in use":
        device["driver"] = value.strip()
    elif name in ("NUMA node", "IOMMU group") and re.fullmatch(r"\d{1,9}", value.strip()):
        device[name.lower().replace(" ", "_")] = int(value)
    elif name == "Bus":
        found = _BUSES.match(text)
        device["secondary"] = int(found[1], 16) if found else None
    elif name == "Capabilities" and "access denied" in value:
        device["denied"] = True


def merge_device(device: dict, other: dict) -> None:
    """Fill gaps of `device` from another listing of the same device."""
    for key, value in other.items():
        if key == "config":
            device[key] = max(device[key], value, key=len)
        elif device[key] in (None, [], False):
            device[key] = value


def merge(devices: dict[str, dict], others: dict[str, dict]) -> None:
    for bdf, other in others.items():
        if bdf in devices:
            merge_device(devices[bdf], other)
        else:
            devices[bdf] = other
