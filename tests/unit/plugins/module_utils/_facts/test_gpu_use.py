# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.gpu_use import with_use
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import Reading, ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci import gpus as pci_gpus

from hosts import pci
from hosts.config_space import all_ones

FIRST, SECOND = "0000:01:00.0", "0000:41:00.0"
MODEL = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
DRIVER = ok([
    {"bdf": FIRST, "model": MODEL, "minor": 2, "uuid": "GPU-1", "firmware": "580.95.05"},
    {"bdf": SECOND, "model": MODEL, "minor": 0, "uuid": "GPU-2", "firmware": None},
])
SMI = {"state": "ok", "gpus": [{"bdf": "00000000:41:00.0", "memory_mib": 97887}]}
NO_SMI = {"state": "not_run", "gpus": []}
NOBODY = ok([])


def guests(vms=(), containers=(), status=None):
    return {"status": status or ok("proxmox"), "vms": ok(list(vms)) if status is None else status,
            "containers": ok(list(containers)) if status is None else status}


def vm(number, bdf, key="hostpci0"):
    return {"id": number, "template": False, "hostpci": [{"key": key, "value": bdf, "bdfs": [bdf]}]}


@pytest.fixture
def gpus(tree, host):
    pci.plant_gpu(tree, FIRST, parent=None)
    pci.plant_gpu(tree, SECOND, parent=None)
    return pci_gpus.read(host)["gpus"]


def join(host, gpus, proc_gpus=DRIVER, smi=None, owners=None, users=NOBODY):
    return with_use(host, gpus, proc_gpus=proc_gpus, smi=smi or SMI, guests=owners or guests(), users=users)


def test_what_the_driver_and_nvidia_smi_say(host, gpus):
    first, second = join(host, gpus)
    assert first["model"] == MODEL
    assert (first["minor"].value, first["uuid"].value, first["gsp_firmware"].value) == (2, "GPU-1", "580.95.05")
    assert (second["minor"].value, second["gsp_firmware"].status) == (0, "absent")
    assert (first["memory_mib"].status, second["memory_mib"].value) == ("absent", 97887)


def test_a_gpu_that_the_driver_does_not_list(host, gpus):
    first, second = join(host, gpus, proc_gpus=ok(DRIVER.value[1:]), smi=NO_SMI)
    assert (first["model"], first["minor"].status, first["uuid"].status) == (None, "absent", "absent")
    assert (first["users"].value, second["memory_mib"].status) == ([], "absent")


def test_a_driver_that_cannot_be_asked(host, gpus):
    first = join(host, gpus, proc_gpus=Reading("denied", None, "EACCES"))[0]
    assert [first[key].status for key in ("minor", "uuid", "gsp_firmware", "users")] == ["denied"] * 4


@pytest.mark.parametrize("named", ["0000:41:00.0", "0000:41:00"])
def test_a_gpu_that_a_vm_names_is_passed_through(host, gpus, named):
    first, second = join(host, gpus, owners=guests(vms=[vm("200", named)]))
    assert (first["state"], first["claimed_by"].value) == ("ok", [])
    assert (second["state"], second["claimed_by"].value) == (
        "passed_through", [{"vm": "200", "key": "hostpci0", "value": named}])


def test_a_claimed_gpu_that_fell_off_is_gone(tree, host, gpus):
    pci.write_config(tree, SECOND, all_ones())
    second = join(host, pci_gpus.read(host)["gpus"], owners=guests(vms=[vm("200", SECOND)]))[1]
    assert (second["state"], len(second["claimed_by"].value)) == ("gone", 1)


def test_claims_that_cannot_be_read_are_unknown(host, gpus):
    owners = guests(status=Reading("unparsable", None, "pmxcfs may not be mounted"))
    first = join(host, gpus, owners=owners)[0]
    assert (first["claimed_by"].status, first["claimed_by"].value, first["state"]) == ("unparsable", None, "ok")
    assert first["containers"] == []


def test_containers_that_are_given_a_gpu_by_its_minor(host, gpus):
    owners = guests(containers=[
        {"id": "101", "template": False, "gpu_devices": ["/dev/nvidia0", "/dev/nvidia-uvm"]},
        {"id": "102", "template": False, "gpu_devices": ["/dev/nvidia2"]},
        {"id": "103", "template": False, "gpu_devices": ["/dev/nvidia0", "/dev/nvidia2"]}])
    first, second = join(host, gpus, owners=owners)
    assert (first["containers"], second["containers"]) == (["102", "103"], ["101", "103"])


def test_processes_that_hold_a_gpu(host, gpus):
    users = ok([
        {"pid": 4711, "command": "python3", "container": "101", "nodes": ["/dev/nvidia0", "/dev/nvidiactl"],
         "persistenced": False},
        {"pid": 900, "command": "nvidia-persiste", "container": None, "nodes": ["/dev/nvidia0", "/dev/nvidia2"],
         "persistenced": True}])
    first, second = join(host, gpus, users=users)
    assert first["users"].value == []
    assert second["users"].value == [{"pid": 4711, "command": "python3", "container": "101"}]


def test_processes_that_may_not_be_looked_at(host, gpus):
    assert join(host, gpus, users=Reading("denied", None, "needs root"))[0]["users"].status == "denied"


def test_what_the_hardware_says_stays(host, gpus):
    first = join(host, gpus)[0]
    assert first["pcie"].value["max_read_request"] == 512
    assert list(first) == list(gpus[0])
