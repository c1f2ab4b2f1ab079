# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether a host is a virtual machine, from its PCI devices and its kernel log, if a report has neither processor flags
nor firmware tables."""
from __future__ import annotations

import re
from typing import Any

from ...module_utils._system.identity import find_hypervisor
from .lspci_names import vendor_of_name

BARE_METAL, VM = "bare_metal", "vm"
# Vendors of devices that only hypervisors have (pci.ids), and of the boards named by QEMU's devices.
_HYPERVISORS = {"1af4": "qemu", "1b36": "qemu", "1234": "qemu", "15ad": "vmware", "80ee": "oracle",
                "1414": "microsoft", "5853": "xen", "1d0f": "amazon", "1ae0": "google"}
HOST_BRIDGE = "0600"
# init_hypervisor_platform() in arch/x86/kernel/cpu/hypervisor.c, and the names in there. Xen PV is left out: the first
# domain, which is the machine itself, has it too.
_DETECTED = re.compile(r".*\bHypervisor detected: (.*?)\s*")
_DETECTED_NAMES = {"KVM": "kvm", "Microsoft Hyper-V": "microsoft", "Microsoft HyperV": "microsoft",
                   "VMware": "vmware", "Xen HVM": "xen", "ACRN": "acrn", "Jailhouse": "jailhouse"}
_BARE = "Booting paravirtualized kernel on bare hardware"         # default_banner() in arch/x86/kernel/paravirt.c
_DMI = re.compile(r".*\bDMI: (?!Memory )(.*), BIOS .*")            # dmi_scan_machine() in drivers/firmware/dmi_scan.c


def kind_of_host(devices: dict[str, dict[str, Any]], log: list[str]) -> dict[str, str | None] | None:
    """`{kind, technology, evidence}` from all devices of a host, {} if not all are known, and from its kernel log.

    Either suffices; a virtual machine is one if one of them says so. None if they are not conclusive.
    """
    found = [kind for kind in (kind_of(devices), kind_of_log(log)) if kind is not None]
    return next((kind for kind in found if kind["kind"] == VM), found[0] if found else None)


def kind_of_log(log: list[str]) -> dict[str, str | None] | None:
    """The same from the kernel log of an x86 machine, which must reach back to the start of the boot."""
    detected = next((match[1] for line in log if (match := _DETECTED.fullmatch(line))), None)
    if detected is not None:
        technology = _DETECTED_NAMES.get(detected)
        return {"kind": VM, "technology": technology,
                "evidence": f"the kernel log says that {detected} was detected"} if technology else None
    board = next((match[1] for line in log if (match := _DMI.fullmatch(line))), None)
    if board is None:
        return None
    technology, word = find_hypervisor(board)
    if technology is not None:
        # Only of Amazon the firmware of physical machines has the same maker.
        return None if ".metal" in board else {
            "kind": VM, "technology": technology, "evidence": f"the firmware reports {word} in the kernel log"}
    return {"kind": BARE_METAL, "technology": None,
            "evidence": f"the kernel log says that it booted on bare hardware, and the firmware reports {board[:80]}"} \
        if any(_BARE in line for line in log) else None


def kind_of(devices: dict[str, dict[str, Any]]) -> dict[str, str | None] | None:
    """`{kind, technology, evidence}` from all devices of a host; None if they are not conclusive."""
    found = [(maker, bdf) for bdf, device in devices.items() for maker in _makers(device) if maker in _HYPERVISORS]
    if found:
        # Xen and cloud providers have devices of QEMU beside their own.
        maker, bdf = next((one for one in found if _HYPERVISORS[one[0]] != "qemu"), found[0])
        return {"kind": VM, "technology": _HYPERVISORS[maker],
                "evidence": f"its PCI device {bdf} is of a hypervisor ({maker})"}
    # Intel devices emulated by QEMU name a QEMU board, which is in a dump and in the output of -v.
    told = [device for device in devices.values() if device["class"] == HOST_BRIDGE
            and (device["detail"] or device["config"])]
    return {"kind": BARE_METAL, "technology": None, "evidence": "none of its PCI devices is of a hypervisor"} \
        if told else None


def _makers(device: dict[str, Any]) -> tuple[str | None, ...]:
    """The makers of a device and of its board."""
    return (device["vendor"], (device["subsystem"] or (None,))[0], _board(device["config"]),
            _named_board(device["detail"]))


def _board(config: bytes) -> str | None:
    """The vendor of the board, PCI_SUBSYSTEM_VENDOR_ID of a type 0 header."""
    ordinary = len(config) >= 0x40 and config[0x0E] & 0x7F == 0
    return f"{int.from_bytes(config[0x2C:0x2E], 'little'):04x}" if ordinary else None


def _named_board(detail: list[str]) -> str | None:
    """The same from the name that lspci -v prints: `Subsystem: Red Hat, Inc. QEMU Virtual Machine`."""
    name = next((line.partition(": ")[2] for line in detail if line.startswith("Subsystem: ")), "")
    return vendor_of_name(name)
