# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Make the kernel's files of PCI devices in /sys from the output of lspci."""
from __future__ import annotations

from typing import Any

from ...module_utils._pci.address import DEVICES
from ...module_utils._pci.capabilities import PCI_CFG_SPACE_SIZE, PCI_STD_HEADER_SIZEOF, find_pcie_capability
from . import pci_registers, pci_tree
from .pci_regions import parse_regions, resource_text
from .recorded_host import RecordedHost

GROUPS = "/sys/kernel/iommu_groups"


def place(host: RecordedHost, devices: dict[str, dict[str, Any]], drawn: dict[str, str | None]) -> dict[str, str]:
    """`{address: its folder below /sys/devices}`; the tree of lspci -t takes precedence over the bridges' registers."""
    registers = pci_tree.tree_of_registers(devices)
    differ = pci_tree.contradictions(drawn, registers)
    if differ:
        host.note(f"lspci -t and the bridges' bus numbers name different bridges above {', '.join(differ[:5])}")
    parents = {**registers, **drawn}
    # If the bridges above a device are unknown, it is a plain folder, and those above it count as not recorded.
    return {bdf: pci_tree.path_of(bdf, parents) if bdf in parents else f"{DEVICES}/{bdf}" for bdf in devices}


def put_devices(host: RecordedHost, devices: dict[str, dict[str, Any]], folders: dict[str, str], *,
                whole: bool) -> None:
    """Write all devices; `whole`: the host has no others."""
    widest = max((len(device["config"]) for device in devices.values()), default=0)
    for bdf, device in devices.items():
        folder = folders[bdf]
        host.folder(folder)
        if folder != f"{DEVICES}/{bdf}":
            host.link(f"{DEVICES}/{bdf}", folder)
        _put_identity(host, folder, device)
        _put_config(host, folder, device, widest)
        _put_bindings(host, folder, bdf, device)
        if _is_physical(device, devices):
            host.close(f"{folder}/physfn")
    if whole:
        host.list_whole(DEVICES)


def _put_identity(host: RecordedHost, folder: str, device: dict[str, Any]) -> None:
    config = device["config"] if device["config"][:2] != b"\xff\xff" else b""
    prog_if = f"{config[9]:02x}" if len(config) >= 12 else device["prog_if"] or "00"
    class_ = f"{config[11]:02x}{config[10]:02x}" if len(config) >= 12 else device["class"]
    ids = {"vendor": device["vendor"] or _word(config, 0), "device": device["device"] or _word(config, 2),
           "class": class_ and class_ + prog_if,
           "revision": device["revision"] if device["revision"] != "ff" else None}
    subsystem = device["subsystem"]
    if len(config) >= PCI_STD_HEADER_SIZEOF and config[0x0E] & 0x7F == 0:
        subsystem = (_word(config, 0x2C), _word(config, 0x2E))
    if subsystem:
        ids["subsystem_vendor"], ids["subsystem_device"] = subsystem
    for name, number in ids.items():
        if number is not None:
            host.put_line(f"{folder}/{name}", f"0x{number}")
    if ids["vendor"] is None and device["name"]:
        # A name that is not in the list is none of the vendors whose numbers an audit compares.
        host.close(f"{folder}/vendor")
    regions = parse_regions(device["detail"], device["config"])
    if regions:
        host.put(f"{folder}/resource", resource_text(regions))


def _word(config: bytes, offset: int) -> str | None:
    return f"{int.from_bytes(config[offset:offset + 2], 'little'):04x}" if len(config) >= offset + 2 else None


def _put_config(host: RecordedHost, folder: str, device: dict[str, Any], widest: int) -> None:
    """The dump at its real length, or the bytes known from the text; `cut` if it ends before the device's space."""
    config, path = device["config"], f"{folder}/config"
    if not config:
        config = pci_registers.express_config(device) or b""
        if not config:
            return
    if len(config) == PCI_CFG_SPACE_SIZE and config[:2] != b"\xff\xff" and find_pcie_capability(config) is not None:
        behind = pci_registers.extended_space(device["detail"])
        if behind is not None:
            config += behind
        elif widest <= PCI_CFG_SPACE_SIZE:
            host.cut[path] = "lspci dumped 256 bytes" if device["config"] else "the text of lspci does not have it"
    elif len(config) < PCI_CFG_SPACE_SIZE and not device["denied"]:
        host.cut[path] = f"lspci dumped {len(config)} bytes"
    host.put(path, config)


def _is_physical(device: dict[str, Any], devices: dict[str, dict[str, Any]]) -> bool:
    """A virtual function has all base address registers zero (PCI Express Base Specification, 9.3.4.1.11), and another
    device of its vendor has the capability SR-IOV."""
    config = device["config"]
    if len(config) >= PCI_STD_HEADER_SIZEOF and config[:2] != b"\xff\xff" and any(config[0x10:0x28]):
        return True
    others = [other for other in devices.values() if other["vendor"] == device["vendor"] and other is not device]
    return bool(device["detail"]) and all(other["detail"] and not _has_functions(other["detail"]) for other in others)


def _has_functions(detail: list[str]) -> bool:
    """Whether a device may have virtual functions: without -vvv lspci does not print their number."""
    text = " ".join(detail)
    return "SR-IOV" in text and "Number of VFs: 0" not in text


def _put_bindings(host: RecordedHost, folder: str, bdf: str, device: dict[str, Any]) -> None:
    """Driver, NUMA node and IOMMU group. lspci -v names a bound driver: a device with details but without a driver has
    none."""
    if device["driver"]:
        driver = f"/sys/bus/pci/drivers/{device['driver']}"
        host.folder(driver)
        host.link(f"{folder}/driver", driver)
    elif device["detail"]:
        host.close(f"{folder}/driver")
    if device["numa_node"] is not None:
        host.put_line(f"{folder}/numa_node", device["numa_node"])
    if device["iommu_group"] is not None:
        group = f"{GROUPS}/{device['iommu_group']}"
        host.folder(group)
        host.link(f"{group}/devices/{bdf}", folder)
        host.link(f"{folder}/iommu_group", group)
        host.leave_out(group, "lspci prints the number of an IOMMU group, not its type")
