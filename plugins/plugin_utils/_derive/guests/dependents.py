# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The guests that are affected by an instruction about the IOMMU, ACS or a reboot."""
from __future__ import annotations

from typing import Any

from ..reading import value
from . import startable


def isolated_guests(guests: dict[str, Any], gpus: list[dict]) -> list[str] | None:
    """The guests that are isolated by ACS and an IOMMU because they are given a PCI device.

    A stopped VM counts: it gets its device at the next start; a template does not. None if the VMs cannot be read.
    """
    if value(guests["vms"]) is None:
        return None
    owners = [f"VM {vm['id']} ({', '.join(claim['key'] for claim in vm['hostpci'])})" for vm in startable.vms(guests)
              if vm["hostpci"]]
    held = [gpu["bdf"] for gpu in gpus if gpu["driver"] == "vfio-pci" and not value(gpu["claimed_by"])]
    return owners + [f"the user of {bdf} (vfio-pci)" for bdf in held]


def stopped_by_reboot(guests: dict[str, Any], given: list[dict[str, Any]]) -> str:
    """Which guests a restart of the host stops, and which containers may come up without their GPUs: sentences without
    the last full stop. `given` are the containers that are given GPUs, as derived."""
    if value(guests["containers"]) is None or value(guests["vms"]) is None:
        return "The guests that a reboot stops are not known: their configuration could not be read"
    those = (("container", startable.containers(guests)), ("VM", startable.vms(guests)))
    named = [f"{kind} {guest['id']}" for kind, found in those for guest in found if guest["running"] is not False]
    stops = f"A reboot stops {', '.join(named)}" if named else "No Proxmox VE guest is running"
    broken = [f"container {one['id']}" for one in given if one["reboot"]]
    if not broken:
        return stops
    return f"{stops}. These may start without their GPUs: {', '.join(broken)} (lxc_survives_reboot)"
