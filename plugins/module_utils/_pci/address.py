# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""PCI devices of a host, their addresses and the ports above them.

An address is the kernel's string (`0000:01:00.0`, `10000:e1:00.0`); domains have four to eight digits. For a device
of the host it is always the name in /sys/bus/pci/devices; other spellings are only compared with it.
"""
from __future__ import annotations

import re
from typing import Any

from .._host.host import Host
from .._host.reading import NotRecorded

DEVICES = "/sys/bus/pci/devices"

_SLOT = re.compile(r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([01]?[0-9a-fA-F])(?:\.([0-7]))?")
_ADDRESS = re.compile(r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([01][0-9a-fA-F])\.([0-7])")
_ROOT_BUS = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")


def parse_address(text: Any) -> tuple[int | None, int, int, int]:
    """Parse `(domain, bus, device, function)`; the domain is None if `text` has none. Raises ValueError."""
    found = _ADDRESS.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        hint = ""
        if not isinstance(text, str) or re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
            hint = " (YAML reads an unquoted address as a number: quote it in YAML)"
        raise ValueError(f"{text!r} is not a PCI address like 0000:01:00.0{hint}")
    domain, bus, device, function = found.groups()
    return (None if domain is None else int(domain, 16)), int(bus, 16), int(device, 16), int(function, 16)


def kernel_address(text: str) -> str | None:
    """Convert another program's spelling of an address to the kernel's; None for text that is no address.

    `00000000:F4:00.0` (nvidia-smi) gives `0000:f4:00.0`, `41:00` (Proxmox) gives `0000:41:00`, the whole slot.
    """
    found = _SLOT.fullmatch(text.strip())
    if found is None:
        return None
    domain, bus, device, function = found.groups()
    slot = f"{int(domain or '0', 16):04x}:{bus.lower()}:{int(device, 16):02x}"      # pci_name(), "%04x:%02x:%02x.%d"
    return slot if function is None else f"{slot}.{function}"


def covers(address: str, function: str) -> bool:
    """Whether `address`, a function or a whole slot (`0000:41:00`), includes the PCI function `function`."""
    return function == address or function.rpartition(".")[0] == address


def list_addresses(host: Host) -> list[str]:
    """List the addresses of all PCI functions of the host, sorted."""
    return host.list(DEVICES)


def find_address(host: Host, text: Any) -> str:
    """Find the kernel's address of the device that `text` names, in any case and with any length of domain.

    Without a domain, bus, device and function must match exactly one device.
    Raises ValueError for text that is no address or matches several devices, LookupError if there is no such device.
    """
    domain, *place = parse_address(text)
    fits = []
    for address in list_addresses(host):
        try:
            its_domain, *its_place = parse_address(address)
        except ValueError:
            continue
        if its_place == place and domain in (None, its_domain):
            fits.append(address)
    if not fits:
        raise LookupError(f"{text}: this host has no such PCI device")
    if len(fits) > 1:
        raise ValueError(f"{text} matches several devices, give the domain: {', '.join(fits)}")
    return fits[0]


def upstream_path(host: Host, address: str) -> list[str]:
    """List the ports above a device, from the nearest to the root port; [] for a device on a root bus.

    They are the folders in the device's path below /sys/devices, after its root bus (`pci0000:00`). A root bus may
    itself be below a device (Intel VMD), which is not part of the path. Raises NotRecorded for a device of which the
    recording has only some files.
    """
    try:
        place = host.resolve(f"{DEVICES}/{address}")
    except OSError:
        return []
    if place.startswith(DEVICES) and host.world.open is not None:
        raise NotRecorded(host.world.open)
    folders = place.split("/")
    path: list[str] = []
    for folder in folders[:-1]:
        if _ROOT_BUS.fullmatch(folder):
            path = []
        elif _ADDRESS.fullmatch(folder):
            path.insert(0, folder)
    return path


def read_classes(host: Host) -> dict[str, str]:
    """Read `{address: class}` of every device, the class as six digits (`030200`).

    /sys/bus/pci/devices/*/class (Documentation/ABI/testing/sysfs-bus-pci). A device whose class cannot be read is
    left out.
    """
    readings = {address: host.read(f"{DEVICES}/{address}/class").map(parse_class).told()
                for address in list_addresses(host)}
    return {address: reading.value for address, reading in readings.items() if reading.ok}


def parse_class(text: str) -> str:
    return parse_hex_id(text, 6)


def parse_hex_id(text: str, digits: int = 4) -> str:
    """Convert `0x10de` to `10de`. Raises ValueError for anything else."""
    identifier = f"{int(text, 16):0{digits}x}"
    if len(identifier) != digits or not identifier.isalnum():
        raise ValueError(f"not {digits} hexadecimal digits")
    return identifier
