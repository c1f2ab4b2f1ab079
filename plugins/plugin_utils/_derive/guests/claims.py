# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Which VMs of this node name a GPU, and which of them start at boot.

Two VMs may name the same GPU, but only one can run: the second does not start (qemu-server, PVE/QemuServer/PCI.pm,
reserve_pci_usage()). A mediated device is a share of a GPU; a mapping with several devices gives a free one.
"""
from __future__ import annotations

from typing import Any

from ....module_utils._pci.address import covers
from ..reading import known, lost, value
from . import startable
from .ha import managed


def claims(gpu: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """`{claims, rivals}`: readings of the VMs that name the GPU and of those that take all of it:
    `[{vm, key, starts}]`.

    If they are not ok, `why` names the VM whose devices are not known.
    """
    claimed = gpu["claimed_by"]
    if value(facts["guests"]["vms"]) is None:
        return {"claims": claimed, "rivals": lost(facts["guests"]["vms"]["status"])}
    vms = startable.vms(facts["guests"])
    untold = [(vm["id"], named) for vm in vms for named in vm["hostpci"] if named["bdfs"] is None]
    naming = [_rival(vm, named, facts) for vm in vms
              for named in vm["hostpci"] if _takes_whole(named, gpu["bdf"])]
    naming = list({rival["vm"]: rival for rival in reversed(naming)}.values())[::-1]
    others = {number for number, _named in untold} - {rival["vm"] for rival in naming}
    decided = len(naming) > 1 or not others or len(naming) + len(others) < 2
    hidden = lost("unparsable", _untold(*untold[0])) if untold else None
    return {"claims": claimed if claimed["status"] == "ok" or hidden is None else hidden,
            "rivals": known(naming) if decided else hidden}


def untold_devices(vm: dict[str, Any]) -> str | None:
    """A sentence about a VM's device that could not be determined; None if all could."""
    named = next((named for named in vm["hostpci"] if named["bdfs"] is None), None)
    return None if named is None else _untold(vm["id"], named)


def _untold(number: str, named: dict[str, Any]) -> str:
    return f"VM {number}: which devices its {named['key']} lists are not known ({named['value']})"


def _takes_whole(named: dict[str, Any], bdf: str) -> bool:
    bdfs = named["bdfs"] or []
    shared = "mdev=" in named["value"] or "/mdev/" in named["value"] or (named["mapping"] and len(bdfs) > 1)
    return not shared and any(covers(address, bdf) for address in bdfs)


def _rival(vm: dict[str, Any], named: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    kept = managed(facts, f"vm:{vm['id']}")
    starts = bool(vm["onboot"]) or (kept is not None and kept["state"] == "started")
    return {"vm": vm["id"], "key": named["key"], "starts": starts}
