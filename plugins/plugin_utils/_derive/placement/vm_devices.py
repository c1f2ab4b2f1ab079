# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""How a VM's machine type and balloon affect the GPUs passed through to it.

Sources: qemu-server, PVE/QemuServer/PCI.pm: print_hostpci_devices(); QEMU, docs/pcie.txt and hw/vfio/pci.c; QEMU,
hw/virtio/virtio-balloon.c: virtio_balloon_inhibited(), which vfio makes true.
"""
from __future__ import annotations

from typing import Any

from ....module_utils._pci.address import covers
from .situation import Placed, holds_now


def judge_pcie(one: Placed, hostpci: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`[{key, problem, starts, command}]` for each entry of `hostpci` that passes a GPU as a plain PCI device, or to a
    machine type without PCI Express."""
    vm = one.entry["configured"]["vm"]
    q35 = "q35" in (vm["machine"] or "")
    found = []
    for named in hostpci:
        if named["key"] not in _keys(hostpci, one):
            continue
        pcie = named["key"] in vm["pcie"]
        if pcie and not q35:
            problem = f"{named['key']} has pcie=1, which needs q35, and the machine is {_machine(vm)}"
        elif not pcie:
            problem = f"{named['key']} has no pcie=1: a device on the conventional PCI bus of {_machine(vm)}"
        else:
            continue
        found.append({"key": named["key"], "problem": problem, "starts": not pcie,
                      "command": _command(one.entry["id"], named, pcie, q35)})
    return found


def _keys(hostpci: list[dict[str, Any]], one: Placed) -> set[str]:
    """The hostpciN keys that name a GPU; not `args`, which has no such option, and not pending changes."""
    return {named["key"] for named in hostpci if named["key"].startswith("hostpci") and holds_now(named)
            and any(covers(bdf, gpu) for bdf in named["bdfs"] or [] for gpu, _node in one.gpus)}


def _machine(vm: dict[str, Any]) -> str:
    return vm["machine"] or "i440fx"


def _command(number: str, named: dict[str, Any], pcie: bool, q35: bool) -> str:
    machine = "" if q35 else " --machine q35"
    device = "" if pcie else f" --{named['key']} {_with_pcie(named['value'])}"
    return f"qm set {number}{machine}{device}"


def _with_pcie(value: str) -> str:
    """The setting with pcie=1, replacing any other pcie."""
    return ",".join([part for part in value.split(",") if not part.strip().startswith("pcie=")] + ["pcie=1"])


def judge_balloon(one: Placed, hostpci: list[dict[str, Any]]) -> list[str]:
    """Sentences about a balloon minimum below the memory of a VM with passed-through devices."""
    configured = one.entry["configured"]
    least, memory = configured["vm"]["balloon_mib"], configured["memory_mib"]
    if not hostpci or not least or memory is None or least >= memory:
        return []
    return [f"balloon: {least} of {memory} MiB"]
