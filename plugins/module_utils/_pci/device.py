# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Power state and config space of a PCI device, read without waking it.

Reading `config` or `current_link_*` resumes a powered-off device and every suspended port above it
(pci_config_pm_runtime_get() in drivers/pci/pci.c). All other files of a device are served from the kernel's memory. So
power is read first, and if the device or a port above it is asleep, those files are not opened.
"""
from __future__ import annotations

import time
from typing import Any, Callable

from .._host.host import Host
from .._host.reading import (
    ABSENT,
    ASLEEP,
    DENIED,
    GONE,
    NOT_RECORDED,
    UNPARSABLE,
    NotRecorded,
    Reading,
    from_error,
    ok,
)
from .address import DEVICES, upstream_path
from .capabilities import (
    PCI_CFG_SPACE_EXP_SIZE,
    PCI_CFG_SPACE_SIZE,
    PCI_EXT_CAP_ID_ACS,
    PCI_EXT_CAP_ID_REBAR,
    PCI_STD_HEADER_SIZEOF,
    find_pcie_capability,
    is_gone,
    read_u16,
    read_u32,
    walk_extended_capabilities,
)
from .registers import (
    PCI_ACS_SIZEOF,
    PCI_EXP_LNKSTA,
    PCI_REBAR_MAX_SIZEOF,
    parse_acs,
    parse_express,
    parse_link_status,
    parse_resizable_bars,
)

# The registers that are decoded. The rest of the extended space is not read: registers that no capability
# defines have hung devices (pci_read_config() in drivers/pci/pci-sysfs.c), and each costs a transaction on the bus.
_EXTENDED_SIZES = {PCI_EXT_CAP_ID_ACS: PCI_ACS_SIZEOF, PCI_EXT_CAP_ID_REBAR: PCI_REBAR_MAX_SIZEOF}

_CARDBUS_HEADER_SIZEOF = 128

LINK_LOOKS_LIMIT = 100
LINK_LOOK_SECONDS = 0.05


# -- power ----------------------------------------------------------------------------------------------------------


def read_power(host: Host, address: str) -> dict:
    """Read `state` (D0 ... D3cold), `runtime_status` (active, suspended ...) and `control` (on, auto). Wakes nothing.

    Documentation/ABI/testing/sysfs-devices-power, sysfs-bus-pci.
    """
    folder = f"{DEVICES}/{address}"
    return {
        "state": host.read(f"{folder}/power_state"),
        "runtime_status": host.read(f"{folder}/power/runtime_status"),
        "control": host.read(f"{folder}/power/control"),
    }


def is_asleep(power: dict) -> bool:
    """Whether a device is suspended by its driver, or being suspended, or without power.

    If a recording lacks the power state, the device was awake, or the recording lacks its registers too.
    """
    status, state = power["runtime_status"], power["state"]
    return (status.ok and status.value in ("suspended", "suspending")) or (state.ok and state.value == "D3cold")


def find_sleeper(host: Host, address: str, known_power: dict | None = None) -> str | None:
    """Find the device that reading this one's config space would wake: itself or a port above it, or None.

    `known_power` caches the results of read_power() by address across calls.
    """
    seen = {} if known_power is None else known_power
    for one in (address, *_ports_above(host, address)):
        if one not in seen:
            seen[one] = read_power(host, one)
        if is_asleep(seen[one]):
            return one
    return None


def _ports_above(host: Host, address: str) -> list[str]:
    """Like upstream_path(); empty if the recording lacks the answer, as nothing can be woken there."""
    try:
        return upstream_path(host, address)
    except NotRecorded:
        return []


class Config(bytes):
    """The bytes of a config space; `cut` says why the recording does not have all of them."""

    cut: str | None = None


# -- config space ---------------------------------------------------------------------------------------------------


def read_config(host: Host, address: str, known_power: dict | None = None) -> Reading:
    """Read the device's config space as bytes, without waking any device.

    256 bytes, or 4096 if the device has an extended space, in which only the headers of the capabilities and the
    bodies of ACS and Resizable BAR are filled in; the rest is zero. Statuses: `asleep`, `gone` (all ones), `denied`
    (the kernel gives 64 bytes to a user other than root).
    """
    sleeper = find_sleeper(host, address, known_power)
    if sleeper is not None:
        return Reading(ASLEEP, None, f"{sleeper} is suspended and was not woken")
    path = f"{DEVICES}/{address}/config"
    try:
        head = host.read_at(path, 0, PCI_CFG_SPACE_SIZE)
        cut = host.why_cut(path)
        if cut is not None and len(head) < PCI_CFG_SPACE_SIZE:
            return Reading(NOT_RECORDED, None, cut)
        if is_gone(head):
            return Reading(GONE, None, "its config space reads all ones: the device does not respond")
        if len(head) in (PCI_STD_HEADER_SIZEOF, _CARDBUS_HEADER_SIZEOF):
            return Reading(DENIED, None, f"only the first {len(head)} bytes: needs root")
        if len(head) < PCI_CFG_SPACE_SIZE:
            return Reading(UNPARSABLE, None, f"{len(head)} bytes of config space")
        extended, ended = _read_extended(host, path)
        config = Config(head + extended)
        config.cut = cut if ended else None
        return ok(config)
    except OSError as error:
        return from_error(error)


def _read_extended(host: Host, path: str) -> tuple[bytes, bool]:
    """Read the bytes after the first 256; also return whether the file ended before all wanted registers."""
    space = bytearray(PCI_CFG_SPACE_EXP_SIZE)
    ended = False

    def fetch(offset: int, size: int) -> None:
        nonlocal ended
        size = min(size, PCI_CFG_SPACE_EXP_SIZE - offset)
        piece = host.read_at(path, offset, size)
        ended = ended or len(piece) < size
        space[offset:offset + len(piece)] = piece

    def header_at(offset: int) -> int | None:
        fetch(offset, 4)
        return read_u32(space, offset)

    if not host.read_at(path, PCI_CFG_SPACE_SIZE, 4):
        return b"", True
    for number, offset in walk_extended_capabilities(header_at):
        if number in _EXTENDED_SIZES:
            fetch(offset, _EXTENDED_SIZES[number])
    return bytes(space[PCI_CFG_SPACE_SIZE:]), ended


def express_of(config: Reading) -> Reading:
    """Decode the PCI Express capability of a config space."""
    return _decode(config, parse_express)


def acs_of(config: Reading) -> Reading:
    """Decode the ACS control bits of a config space, None for a device without ACS."""
    return _decode_extended(config, parse_acs, None)


def resizable_bars_of(config: Reading) -> Reading:
    return _decode_extended(config, parse_resizable_bars, [])


def _decode(config: Reading, parse: Callable[[bytes], Any]) -> Reading:
    if not config.ok:
        return config
    try:
        return ok(parse(config.value))
    except ValueError as why:
        return Reading(UNPARSABLE, None, str(why))


def _decode_extended(config: Reading, parse: Callable[[bytes], Any], without: Any) -> Reading:
    """Like _decode(); a conventional device has no extended space, and an Express device's may be inaccessible."""
    if config.ok and getattr(config.value, "cut", None) is not None:
        return Reading(NOT_RECORDED, None, config.value.cut)
    if config.ok and len(config.value) <= PCI_CFG_SPACE_SIZE:
        if find_pcie_capability(config.value) is None:
            return ok(without)
        return Reading(ABSENT, None, "this kernel cannot access the extended config space")
    return _decode(config, parse)


# -- links over time --------------------------------------------------------------------------------------------------


def look_at_links(host: Host, capabilities: dict[str, int], looks: int) -> dict[str, dict]:
    """Sample the links of devices `looks` times, LINK_LOOK_SECONDS apart: one sample shows only one phase of a link.

    `capabilities` are the offsets of the PCI Express capabilities by address. Each sample reads the power state, then
    the two bytes of Link Status (GT/s, lanes): a device that has fallen asleep is not woken, and one that no longer
    responds is left out.
    """
    seen: dict[str, list] = {address: [] for address in capabilities}
    for look in range(min(looks, LINK_LOOKS_LIMIT)):
        if look:
            time.sleep(LINK_LOOK_SECONDS)
        power: dict[str, dict] = {}
        for address, capability in capabilities.items():
            status = _read_link_status(host, address, capability, power)
            if status not in (None, 0xFFFF):
                seen[address].append(parse_link_status(status))
    return {address: summarize_looks(found) for address, found in seen.items() if found}


def _read_link_status(host: Host, address: str, capability: int, power: dict[str, dict]) -> int | None:
    if find_sleeper(host, address, power) is not None:
        return None
    try:
        return read_u16(host.read_at(f"{DEVICES}/{address}/config", capability + PCI_EXP_LNKSTA, 2), 0)
    except OSError:
        return None


def summarize_looks(found: list[tuple[float | None, int]]) -> dict:
    """Summarise `[(speed, width)]`: minima, maxima, and the number of changes between samples."""
    speeds, widths = [speed for speed, _width in found if speed is not None], [width for _speed, width in found]
    return {
        "looks": len(found), "changes": sum(1 for one, other in zip(found, found[1:]) if one != other),
        "min_speed_gts": min(speeds, default=None), "max_speed_gts": max(speeds, default=None),
        "min_width": min(widths), "max_width": max(widths),
    }
