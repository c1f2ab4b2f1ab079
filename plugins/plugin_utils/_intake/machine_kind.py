# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether a host is a virtual machine, from its PCI devices, if a report has neither processor flags nor firmware
tables."""
from __future__ import annotations

from typing import Any

BARE_METAL, VM = "bare_metal", "vm"
# Vendors of devices that only hypervisors have (pci.ids), and of the boards named by QEMU's devices.
_HYPERVISORS = {"1af4": "qemu", "1b36": "qemu", "1234": "qemu", "15ad": "vmware", "80ee": "oracle",
                "1414": "microsoft", "5853": "xen", "1d0f": "amazon", "1ae0": "google"}
_HOST_BRIDGE = "0600"


def kind_of(devices: dict[str, dict[str, Any]]) -> dict[str, str | None] | None:
    """`{kind, technology, evidence}` from all devices of a host; None if they are not conclusive."""
    for bdf, device in devices.items():
        makers = {device["vendor"], (device["subsystem"] or (None,))[0], _board(device["config"])}
        found = next((maker for maker in makers if maker in _HYPERVISORS), None)
        if found is not None:
            return {"kind": VM, "technology": _HYPERVISORS[found],
                    "evidence": f"its PCI device {bdf} is of a hypervisor ({found})"}
    # Intel devices emulated by QEMU name a QEMU board, which is in a dump and in the output of -nn and -v.
    told = [device for device in devices.values() if device["class"] == _HOST_BRIDGE
            and (device["detail"] or device["config"])]
    return {"kind": BARE_METAL, "technology": None, "evidence": "none of its PCI devices is of a hypervisor"} \
        if told else None


def _board(config: bytes) -> str | None:
    """The vendor of the board, PCI_SUBSYSTEM_VENDOR_ID of a type 0 header."""
    ordinary = len(config) >= 0x40 and config[0x0E] & 0x7F == 0
    return f"{int.from_bytes(config[0x2C:0x2E], 'little'):04x}" if ordinary else None
