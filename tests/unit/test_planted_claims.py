# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who owns a GPU: what is known of VMs counts, what is not is unknown and names the VM that hides it."""
from __future__ import annotations

import functools

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.describe import describe

from facts_schema import problems
from hosts import pci
from hosts.proxmox import plant_ha, plant_proxmox
from hosts.reference import MINORS, reference
from hosts.story_before import story_before, with_virtual_function
from verdicts import judged, skipped

UUID = "00000000-aaaa-4bbb-8ccc-000000000205"
ARGUMENTS = f"-device 'vfio-pci,sysfsdev=/sys/bus/mdev/devices/{UUID}' -uuid 00000000-0000-0000-0000-000000000205"
HIDDEN = f"VM 115: which devices its args lists are not known ({ARGUMENTS})"
WHOLE = {"110": "hostpci0: 0000:f4:00,pcie=1,x-vga=1\nhostpci1: 0000:f5:00.0,pcie=1,rombar=0\nonboot: 1\n",
         "112": "hostpci0: 0000:75:00.0,device-id=0x1DB6,mdev=nvidia-66\n",
         "115": f"args: {ARGUMENTS}\ncores: 4\n"}
NAMED = {"0000:f4:00.0": "110", "0000:f5:00.0": "110", "0000:75:00.0": "112"}
MAPPING = ("gpus\n\tmap id=10de:2bb5,node=pve1,path=0000:f4:00.0\n\tmap id=10de:2bb5,node=pve1,path=0000:f5:00.0\n"
           "one\n\tmap id=10de:2bb5,node=pve1,path=0000:f4:00.0\n")


@functools.cache
def with_vms(**vms):
    """The reference host as a Proxmox VE node with VMs `vm200="..."`; the two GPUs of the last switch on vfio-pci."""
    def plant(tree):
        reference(tree)
        for bdf in ("0000:f4:00.0", "0000:f5:00.0"):
            pci.bind(tree, bdf, "vfio-pci")
        return plant_proxmox(tree, vms={name[2:]: text for name, text in vms.items()}, mapping=MAPPING)
    return plant


def b13(tree):
    return with_vms(**{f"vm{number}": text for number, text in WHOLE.items()})(tree)


def b13_with_the_device(tree):
    """The mediated device is there now: it was made below 0000:84:00.0."""
    b13(tree)
    folder = f"{pci.device_path(tree, '0000:84:00.0')}/{UUID}"
    tree.folder(folder).link(f"/sys/bus/mdev/devices/{UUID}", f"../../..{folder}")


def of(found, check):
    return {subject: finding for (name, subject), finding in found.items() if name == check}


def test_b13_claims_that_are_known_count_beside_one_that_is_not(facts_of):
    """B-13: one VM's arguments made the owner of all eight GPUs unreadable."""
    found = of(judged(facts_of(b13)), "gpu_one_owner")
    assert {bdf: finding["reason"] for bdf, finding in found.items() if bdf in NAMED} == {
        "0000:f4:00.0": "assigned to VM 110 (hostpci0), to no container",
        "0000:f5:00.0": "assigned to VM 110 (hostpci1), to no container",
        "0000:75:00.0": "assigned to VM 112 (hostpci0), to no container"}
    others = [finding for bdf, finding in found.items() if bdf not in NAMED]
    assert [finding["verdict"] for finding in others] == ["unknown"] * 5
    assert {finding["reason"] for finding in others} == {HIDDEN}


def test_b13_registers_of_gpus_that_may_be_a_vms_are_not_planned_and_the_reason_names_it(facts_of):
    facts = facts_of(b13)
    reasons = skipped(facts, judged(facts), "pcie_maxreadreq")
    assert set(reasons) == set(MINORS)
    assert all(HIDDEN in reasons[bdf] for bdf in set(MINORS) - set(NAMED))
    assert "VM 110 (hostpci0)" in reasons["0000:f4:00.0"]


def test_b13_the_vm_itself_is_unknown_and_not_one_without_gpus(facts_of):
    finding = judged(facts_of(b13))["vm_hostpci", "vm:115"]
    assert finding["verdict"] == "unknown"
    assert HIDDEN in finding["reason"]
    assert "no GPUs" not in finding["reason"]


@pytest.mark.parametrize("plant", [b13, b13_with_the_device])
def test_b13_facts_and_what_is_derived_have_their_shape(facts_of, plant):
    facts = facts_of(plant)
    known = derive(facts)
    assert problems("guests", facts["guests"]) == []
    assert [problem for gpu in known["gpus"]
            for problem in problems("derived", {"host": known["derived"], "gpu": gpu["derived"]})] == []


def test_b13_a_mediated_device_belongs_to_the_gpu_that_it_was_made_of(facts_of):
    found = judged(facts_of(b13_with_the_device))
    assert found["gpu_one_owner", "0000:84:00.0"]["reason"] == "assigned to VM 115 (args), to no container"
    assert found["gpu_one_owner", "0000:85:00.0"]["reason"] == "no VM names the GPU"
    assert found["vm_hostpci", "vm:115"]["reason"] == "0000:84:00.0"


# -- two VMs, one GPU -------------------------------------------------------------------------------------------------

F4 = "hostpci0: 0000:f4:00.0,pcie=1\n"
ON = "onboot: 1\n"


@pytest.mark.parametrize("vms, line, reason", [
    ({"vm200": F4 + ON, "vm201": "hostpci3: f4:00\n" + ON}, ("fail", "P1"),
     "assigned to VM 200 (hostpci0, starts at boot), VM 201 (hostpci3, starts at boot)"),
    ({"vm200": F4 + ON, "vm201": F4}, ("fail", "info"),
     "assigned to VM 200 (hostpci0, starts at boot), VM 201 (hostpci0)"),
    ({"vm200": F4, "vm201": F4, "vm202": F4}, ("fail", "info"),
     "assigned to VM 200 (hostpci0), VM 201 (hostpci0), VM 202 (hostpci0)"),
    ({"vm200": F4 + ON, "vm201": "hostpci0: mapping=one\n" + ON}, ("fail", "P1"),
     "assigned to VM 200 (hostpci0, starts at boot), VM 201 (hostpci0, starts at boot)"),
    ({"vm200": F4 + ON}, ("pass", "info"), "assigned only to VM 200"),
    # A template never starts, a device of a snapshot is no device of the VM, of a mapping a free one is taken.
    ({"vm200": F4 + ON, "vm201": F4 + ON + "template: 1\n"}, ("pass", "info"), "assigned only to VM 200"),
    ({"vm200": F4 + ON, "vm201": f"{ON}[before]\n{F4}"}, ("pass", "info"), "assigned only to VM 200"),
    ({"vm200": "hostpci0: mapping=gpus\n" + ON, "vm201": "hostpci0: mapping=gpus\n" + ON}, ("not_applicable", "info"),
     "no VM is assigned the whole GPU"),
    ({"vm200": "hostpci0: f4:00.0,mdev=nvidia-66\n" + ON, "vm201": "hostpci0: f4:00.0,mdev=nvidia-66\n" + ON},
     ("not_applicable", "info"), "no VM is assigned the whole GPU"),
    # One of them pending until the next start: it is a claim already, also in arguments of QEMU.
    ({"vm200": F4 + ON, "vm201": f"{ON}[PENDING]\nargs: -device vfio-pci,host=f4:00.0\n"}, ("fail", "P1"),
     "assigned to VM 200 (hostpci0, starts at boot), VM 201 (args (pending), starts at boot)"),
    ({"vm200": F4 + ON, "vm201": f"{ON}[PENDING]\n{F4}"}, ("fail", "P1"),
     "assigned to VM 200 (hostpci0, starts at boot), VM 201 (hostpci0 (pending), starts at boot)"),
])
def test_two_vms_that_name_one_gpu(facts_of, vms, line, reason):
    finding = judged(facts_of(with_vms(**vms)))["vm_gpu_conflict", "0000:f4:00.0"]
    assert ((finding["verdict"], finding["priority"]), finding["reason"]) == (line, reason)


def test_a_vm_that_the_cluster_keeps_started_starts_by_itself(facts_of):
    def plant(tree):
        with_vms(vm200=F4 + ON, vm201=F4)(tree)
        plant_ha(tree)
        tree.file("/etc/pve/ha/resources.cfg", "vm: 201\n\tstate started\n")

    assert judged(facts_of(plant))["vm_gpu_conflict", "0000:f4:00.0"]["priority"] == "P1"


def test_a_vm_that_hides_its_devices_may_be_the_second_one(facts_of):
    found = of(judged(facts_of(b13)), "vm_gpu_conflict")
    assert {bdf: finding["verdict"] for bdf, finding in found.items()} == {
        **dict.fromkeys(MINORS, "not_applicable"), "0000:f4:00.0": "unknown", "0000:f5:00.0": "unknown"}
    assert HIDDEN in found["0000:f4:00.0"]["reason"]


# -- virtual functions ------------------------------------------------------------------------------------------------

def test_virtual_functions_are_shares_and_no_gpus_more(facts_of):
    def plant(tree):
        story_before(tree, cores=1)
        with_virtual_function(tree, "0000:41:00.0")

    facts = facts_of(plant)
    known = derive(facts)["derived"]
    assert (known["compute_gpus"], len(known["nvidia_gpus"])) == (8, 8)
    assert "8 x NVIDIA RTX PRO 6000 Blackwell Server Edition, 1 virtual function of them" in describe(facts)
    assert (facts["nvidia"]["smi"]["state"], facts["gpus"][1]["state"]) == ("ok", "ok")


# -- templates, which never start -------------------------------------------------------------------------------------

TEMPLATE = "template: 1\n"
GONE = "hostpci1: 0000:99:00.0\n"


def test_a_template_owns_no_gpu(facts_of):
    """The host uses 0000:f4:00.0 although a template names it: its health is judged, and nothing conflicts."""
    def plant(tree):
        reference(tree)
        plant_proxmox(tree, vms={"900": F4 + GONE + TEMPLATE + ON}, containers={
            "101": "dev0: /dev/nvidia6\ndev1: /dev/nvidiactl\ndev2: /dev/nvidia-uvm\n"})

    found = judged(facts_of(plant))
    assert {finding["reason"] for finding in of(found, "gpu_one_owner").values()} == {"no VM names the GPU"}
    assert found["gpu_driver", "0000:f4:00.0"]["verdict"] == "pass"
    assert found["pcie_link_width", "0000:f4:00.0"]["verdict"] == "pass"
    only = "no VM but a template (900) has a PCI device, and Proxmox VE does not start a template"
    assert {check: found[check, None]["reason"] for check in ("vm_hostpci", "vm_survives_reboot")} == dict.fromkeys(
        ("vm_hostpci", "vm_survives_reboot"), only)
    assert found["iommu_for_guests", None]["verdict"] == "not_applicable"


def test_a_template_of_which_nothing_is_known_hides_nothing(facts_of):
    """Its mediated device is made when a clone starts; that of a VM hides the owner of every GPU."""
    found = judged(facts_of(with_vms(vm115=f"args: {ARGUMENTS}\n{TEMPLATE}")))
    assert {finding["verdict"] for finding in of(found, "gpu_one_owner").values()} == {"not_applicable"}


def test_a_container_template_opens_no_device(facts_of):
    """What would be wrong with a container is nothing of a template: it is never started."""
    def plant(tree):
        reference(tree)
        plant_proxmox(tree, vms={"200": F4}, containers={"900": (
            TEMPLATE + "onboot: 1\ndev0: /dev/nvidia6\ndev1: /dev/nvidia99\nlxc.cgroup2.devices.allow: c195:* rwm\n"
            "lxc.cgroup.devices.allow: c 195:* rwm\nlxc.cgroup2.devices.allow: a\n[pve:pending]\ndev0: /dev/kfd\n")})

    found = judged(facts_of(plant))
    assert found["gpu_one_owner", "0000:f4:00.0"]["reason"] == "assigned to VM 200 (hostpci0), to no container"
    assert [subject for _check, subject in found if subject == "lxc:900"] == []
    checks = ("lxc_gpu_access", "lxc_stale_rules", "lxc_overbroad_rules", "lxc_ignored_settings",
              "lxc_unreadable_rules", "lxc_survives_reboot")
    assert {found[check, None]["reason"] for check in checks} == {
        "no container but a template (900) is given a GPU, and Proxmox VE does not start a template"}
    assert found["nvidia_device_nodes", None]["reason"] == "no container that can be started is given a GPU"


def test_registers_of_a_gpu_that_only_a_template_names_are_planned(facts_of):
    def plant(tree):
        reference(tree)
        plant_proxmox(tree, vms={"900": F4 + TEMPLATE})

    facts = facts_of(plant)
    assert "0000:f4:00.0" not in skipped(facts, judged(facts), "pcie_maxreadreq")
