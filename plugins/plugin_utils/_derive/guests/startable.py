# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The guests that can be started. A template cannot: Proxmox VE refuses it.

Sources: `template` in `man qm.conf` and `man pct.conf`; qemu-server, src/PVE/QemuServer.pm: vm_start(); pve-container,
src/PVE/API2/LXC/Status.pm: vm_start.
"""
from __future__ import annotations

from typing import Any

from ..reading import value


def containers(guests: dict[str, Any]) -> list[dict[str, Any]]:
    """The containers of the node without templates; none if they could not be read."""
    return [guest for guest in value(guests["containers"]) or [] if not guest.get("template")]


def vms(guests: dict[str, Any]) -> list[dict[str, Any]]:
    """The VMs of the node without templates; none if they could not be read."""
    return [guest for guest in value(guests["vms"]) or [] if not guest.get("template")]


def templates_given_devices(guests: dict[str, Any]) -> dict[str, list[str]]:
    """`{containers, vms}`: the ids of the templates that name GPUs or PCI devices, which only their clones will use."""
    return {section: [guest["id"] for guest in value(guests[section]) or [] if guest.get("template") and guest[devices]]
            for section, devices in (("containers", "gpu_devices"), ("vms", "hostpci"))}
