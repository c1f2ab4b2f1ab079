# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guests that an instruction about the IOMMU, ACS or a reboot names."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.guests.dependents import (
    isolated_guests,
    stopped_by_reboot,
)

from neutral_facts import lacking, ok


def vm(number: str, *keys: str, running: bool | None = False) -> dict:
    return {"id": number, "running": running, "hostpci": [{"key": key, "value": "0000:41:00"} for key in keys]}


def gpu(driver: str | None, claims: dict) -> dict:
    return {"bdf": "0000:41:00.0", "driver": driver, "claimed_by": claims}


@pytest.mark.parametrize("vms, gpus, names", [
    (ok([]), [], []),
    (ok([vm("100"), vm("200", "hostpci0", "hostpci1 (pending)")]), [], ["VM 200 (hostpci0, hostpci1 (pending))"]),
    (ok([vm("201", "args")]), [gpu("vfio-pci", ok([{"vm": "201", "key": "args", "value": ""}]))], ["VM 201 (args)"]),
    (ok([]), [gpu("vfio-pci", ok([]))], ["the user of 0000:41:00.0 (vfio-pci)"]),
    (ok([]), [gpu("nvidia", ok([])), gpu(None, ok([]))], []),
    (lacking("unparsable"), [gpu("vfio-pci", ok([]))], None),
])
def test_who_relies_on_isolation(vms, gpus, names):
    assert isolated_guests({"vms": vms}, gpus) == names


@pytest.mark.parametrize("containers, vms, given, says", [
    (ok([]), ok([]), [], "No Proxmox VE guest is running"),
    (ok([{"id": "101", "running": False}]), ok([vm("200")]), [], "No Proxmox VE guest is running"),
    (ok([{"id": "101", "running": True}, {"id": "102", "running": None}]), ok([vm("200", running=True)]),
     [{"id": "101", "reboot": ["a rule by number"]}, {"id": "102", "reboot": []}],
     "A reboot stops container 101, container 102, VM 200. These may start without their GPUs: container 101 "
     "(lxc_survives_reboot)"),
    (lacking("denied"), ok([]), [],
     "The guests that a reboot stops are not known: their configuration could not be read"),
])
def test_who_stops_with_the_host(containers, vms, given, says):
    assert stopped_by_reboot({"containers": containers, "vms": vms}, given) == says
