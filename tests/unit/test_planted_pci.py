# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transfers between GPUs on planted hosts: who shares what, and which instruction is given to whom."""
from __future__ import annotations

import functools
from collections import Counter

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive

from hosts import pci
from hosts.hgx import hgx_h100
from hosts.proxmox import plant_proxmox
from hosts.reference import SWITCHES, healthy, reference
from hosts.story_before import story_before
from verdicts import judged

WITH_A_CARD = {"200": "name: router\nhostpci0: 0000:c1:00.0\n"}


def redirect(tree):
    """The downstream ports of the first switch redirect, as the kernel sets them with an IOMMU in use."""
    for slot in SWITCHES[0][3]:
        pci.write_config(tree, f"{SWITCHES[0][2]}:{slot:02x}.0", pci.switch_port_space(acs=0x001D))


@functools.cache
def redirecting(vms=False, unmounted=False):
    """The tuned reference host with that switch; with a VM that has a network card, or with an empty /etc/pve."""
    def plant(tree):
        healthy(tree)
        redirect(tree)
        if vms:
            plant_proxmox(tree, vms=WITH_A_CARD)
        if unmounted:
            tree.path("/etc/pve").mkdir(parents=True)
    return plant


def story_with_a_vm(tree):
    story_before(tree, cores=1, vms=WITH_A_CARD)


# -- the picture ------------------------------------------------------------------------------------------------------

def test_pairs_of_the_story_are_translated_and_redirected(facts_of):
    p2p = derive(facts_of(story_before))["derived"]["p2p"]
    assert Counter(pair["relation"] for pair in p2p["pairs"]) == {"same_socket": 12, "across": 16}
    assert {(pair["meet"], *pair["types"], pair["follows"]) for pair in p2p["pairs"]} == {
        (None, "DMA-FQ", "DMA-FQ", "may_hang")}


def test_pairs_of_the_reference_host_go_straight(facts_of):
    pairs = derive(facts_of(reference))["derived"]["p2p"]["pairs"]
    assert Counter(pair["relation"] for pair in pairs) == {"same_switch": 4, "same_socket": 8, "across": 16}
    assert [pair["meet"] for pair in pairs if pair["relation"] == "same_switch"] == [
        "0000:01:00.0", "0000:71:00.0", "0000:81:00.0", "0000:f1:00.0"]
    assert {(*pair["types"], pair["follows"]) for pair in pairs} == {(None, None, "direct")}


def test_one_switch_that_redirects_sends_its_own_pair_on_a_detour(facts_of):
    pairs = derive(facts_of(redirecting()))["derived"]["p2p"]["pairs"]
    assert [(pair["a"], pair["b"]) for pair in pairs if pair["follows"] == "detour"] == [
        ("0000:06:00.0", "0000:07:00.0")]
    assert Counter(pair["follows"] for pair in pairs) == {"detour": 1, "direct": 27}


def story_with_nvswitches(tree):
    story_before(tree, cores=1)
    for slot in range(4):
        pci.plant_device(tree, f"0000:c{slot}:00.0", class_=0x068000, device=0x22A3)


def test_gpus_that_talk_over_nvlink_do_not_hang_for_the_iommu(facts_of):
    """Nor is there anything to improve where no network card shares a switch with one."""
    found = judged(facts_of(story_with_nvswitches))
    assert (found["iommu_acs", None]["verdict"], found["iommu_acs", None]["reason"]) == (
        "not_applicable", "the GPUs are connected by NVLink: transfers between them are not affected by IOMMU or ACS")
    assert found["gpu_nic_path", None]["reason"] == "no RDMA device on this host"


def hgx_that_translates(tree):
    """As it comes without iommu=pt."""
    hgx_h100(tree)
    for folder in tree.path("/sys/kernel/iommu_groups").iterdir():
        tree.file(f"/sys/kernel/iommu_groups/{folder.name}/type", "DMA-FQ")


def test_network_cards_reach_gpus_over_pci_express_also_where_nvlink_joins_these(facts_of):
    found = judged(facts_of(hgx_that_translates))
    finding = found["gpu_nic_path", None]
    assert (finding["verdict"], finding["priority"], finding["actual"]) == ("fail", "P1", "translated")
    assert finding["reason"].count(" and 0000:") == 8
    assert "Put iommu=pt on the kernel command line" in finding["fix"]["how"]
    assert found["iommu_acs", None]["verdict"] == "not_applicable"


# -- instructions and the guests they concern -------------------------------------------------------------------------

def test_redirection_that_nobody_relies_on_may_be_cleared(facts_of):
    finding = judged(facts_of(redirecting()))["iommu_acs", None]
    assert (finding["verdict"], finding["priority"], finding["actual"]) == ("fail", "P2", "redirected")
    assert finding["fix"]["how"].startswith(
        "No guest relies on it. For this boot: for port in 0000:02:03.0 0000:02:04.0; do setpci -s $port "
        "ECAP_ACS+6.w=0000:000c; done (a reset of a port sets it again). Permanently: "
        '\\"pci=config_acs=00xx@0000:02:03.0;00xx@0000:02:04.0\\" with these backslashes and quotes')


def test_redirection_that_a_vm_relies_on_is_left_alone(facts_of):
    """The VM's device is a network card somewhere else: isolation is what keeps GPUs from reaching it."""
    fix = judged(facts_of(redirecting(vms=True)))["iommu_acs", None]["fix"]
    assert fix["how"] == (
        "No instruction: redirection isolates the devices of VM 200 (hostpci0) from the others. Move these devices to "
        "another host first.")
    assert "No Proxmox VE guest is running." in fix["risk"]


def test_unreadable_vms_get_no_instruction_either(facts_of):
    fix = judged(facts_of(redirecting(unmounted=True)))["iommu_acs", None]["fix"]
    assert fix["how"] == "No instruction: the VMs that rely on redirection could not be determined."


@pytest.mark.parametrize("plant, isolated", [
    (story_before, "(none here)"), (story_with_a_vm, "(VM 200 (hostpci0))")])
def test_a_restart_names_who_it_stops_and_who_keeps_isolation(facts_of, plant, isolated):
    fix = judged(facts_of(plant))["iommu_acs", None]["fix"]
    assert fix["how"].startswith("Put iommu=pt on the kernel command line")
    assert f"VMs with PCI devices {isolated} keep a translating domain" in fix["risk"]
    assert ("A reboot stops container 101, container 102. These may start without their GPUs: container 101 "
            "(lxc_survives_reboot).") in fix["risk"]


def reference_with_a_vm(tree):
    reference(tree)
    plant_proxmox(tree, vms=WITH_A_CARD)


def test_a_vm_with_a_device_needs_the_iommu(facts_of):
    finding = judged(facts_of(reference_with_a_vm))["iommu_for_guests", None]
    assert (finding["verdict"], finding["priority"]) == ("fail", "P1")
    assert finding["reason"] == "no IOMMU is in use, and these cannot start: VM 200 (hostpci0)"
    assert judged(facts_of(story_with_a_vm))["iommu_for_guests", None]["reason"] == "for VM 200 (hostpci0)"


# -- more CPUs than an interrupt can name -----------------------------------------------------------------------------

def test_the_cpu_that_is_offline_has_its_cause(facts_of):
    finding = judged(facts_of(reference))["iommu_many_cpus", None]
    assert finding["reason"] == "no IOMMU is in use; 1 of 256 CPUs are offline"
    assert "No Proxmox VE guest is running." in finding["fix"]["risk"]
    assert judged(facts_of(healthy))["iommu_many_cpus", None]["verdict"] == "pass"
    assert judged(facts_of(story_before))["iommu_many_cpus", None]["reason"] == "the host has no more than 255 CPUs"


# -- one GPU, one owner -----------------------------------------------------------------------------------------------

def vm_with_a_gpu_of_a_container(tree):
    story_before(tree, cores=1, vms={"200": "name: desk\nhostpci0: 0000:41:00.0,pcie=1\n"})


def test_a_gpu_of_a_vm_and_of_a_container(facts_of):
    finding = judged(facts_of(vm_with_a_gpu_of_a_container))["gpu_one_owner", "0000:41:00.0"]
    assert finding["reason"] == (
        "assigned to VM 200 (hostpci0: 0000:41:00.0,pcie=1) and to containers 102")
    assert finding["fix"]["how"] == (
        "Decide which guest gets it. Remove it from the VM: qm set 200 --delete hostpci0. Or remove its device "
        "node (/dev/nvidia4) from containers 102.")
