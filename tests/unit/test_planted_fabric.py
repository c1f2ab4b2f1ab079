# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts whose GPUs are joined by NVSwitches: whether CUDA can start, and what is no network card there."""
from __future__ import annotations

import functools
import shutil

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.judge import summary
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive

from expected_hosts.fabric import HOSTS
from facts_schema import document_problems
from hosts import kernel, managers, pci
from hosts.hgx import B200, FABRIC_MANAGER, H100, MANAGEMENT, NVSWITCHES, hgx_b200, hgx_h100
from hosts.nvidia import FABRIC_UP, GEFORCE, NO_FABRIC, Gpu, plant_links, smi_xml
from hosts.nvl72 import gb200
from verdicts import expand, failing, judged, lines

BROKEN = ("hgx_h100_without_fabric_manager", "hgx_b200_without_nvlsm", "gb200_without_fabric",
          "eight_instincts_with_errors")
SERVICE = "service:nvidia-fabricmanager"


@functools.cache
def changed(base, *changes):
    """Plants `base`, then those changes; one function for the same changes."""
    def plant(tree):
        base(tree)
        for change in changes:
            change(tree)
    return plant


@functools.cache
def said_of_h100(state, status, health=""):
    def change(tree):
        fabric = (state, status, f"<health>{health}</health>" if health else "")
        said = {"power_limit": 700, "default_power_limit": 700, "fabric": fabric}
        tree.program("nvidia-smi.xml", smi_xml(
            [Gpu(gpu, minor, "NVIDIA H100 80GB HBM3", 81559, 131072, pstate="P0", smi=said)
             for minor, gpu in enumerate(H100)], "535.183.06"))
    return change


def stopped(tree):
    shutil.rmtree(tree.path(f"/sys/fs/cgroup/system.slice/{FABRIC_MANAGER}.service"))
    shutil.rmtree(tree.path("/proc/815"))


def not_enabled(tree):
    tree.remove(f"/etc/systemd/system/multi-user.target.wants/{FABRIC_MANAGER}.service")


def without_unit(tree):
    stopped(tree)
    not_enabled(tree)
    tree.remove(f"/usr/lib/systemd/system/{FABRIC_MANAGER}.service")


def no_answer(tree):
    tree.remove("/recorded/nvidia-smi.xml")


def found(facts, check, subject=None):
    finding = judged(facts)[check, subject]
    return finding["verdict"], finding["priority"], finding["reason"]


# -- what was written down before -------------------------------------------------------------------------------------

@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.plant.__name__)
def test_what_is_said_is_what_was_written_down_before(facts_of, host):
    """Every finding that fails or is unknown, and the first three things to do."""
    findings = judged(facts_of(host.plant))
    wrong = {pair: line for pair, line in lines(findings).items() if line.startswith(("fail", "unknown"))}
    assert wrong == expand(host.fails)
    serious = [check for check, priority in failing(findings).items() if priority != "info"]
    assert serious[:3] == list(host.first)
    assert set(serious) <= set(host.sources)
    assert {check: findings[check, None]["reason"] for check in host.not_applicable} == dict(host.not_applicable)


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.plant.__name__)
def test_the_gate_of_p0_fails_on_broken_hosts_alone(facts_of, host):
    broken = bool(summary(judged(facts_of(host.plant)).values())["failing"]["P0"])
    assert broken is (host.plant.__name__ in BROKEN)


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.plant.__name__)
def test_facts_hold_against_their_schema(facts_of, host):
    assert document_problems("facts.json", facts_of(host.plant)) == []


# -- daemons ----------------------------------------------------------------------------------------------------------

def test_a_fabric_that_is_up_says_so(facts_of):
    assert found(facts_of(hgx_h100), "nvidia_fabric", H100[0]) == ("pass", "P1", "Completed")
    assert found(facts_of(hgx_h100), "nvidia_fabric_services", SERVICE) == ("pass", "P1", "runs")
    assert found(facts_of(hgx_h100), "nvidia_nvlink", H100[3]) == ("pass", "P1", "18 of 18")


def test_a_daemon_that_is_gone_at_the_next_boot_is_p1_while_it_runs(facts_of):
    assert found(facts_of(changed(hgx_h100, not_enabled)), "nvidia_fabric_services", SERVICE) == (
        "fail", "P1", "nvidia-fabricmanager: not enabled: it will not start at the next boot")


def test_a_fabric_manager_that_a_container_brings_along_is_no_fault(facts_of):
    """The driver container of a cluster has no unit on the host, and every GPU says that its fabric is up."""
    assert found(facts_of(changed(hgx_h100, without_unit)), "nvidia_fabric_services", SERVICE) == (
        "pass", "P1", "not found, but every GPU reports that its fabric is up")


def test_a_gpu_that_does_not_tell_its_state_needs_a_daemon_that_runs(facts_of):
    """An A100 registers with no fabric, and CUDA answers 802 on it all the same."""
    silent = said_of_h100(*NO_FABRIC[:2])
    assert found(facts_of(changed(hgx_h100, silent)), "nvidia_fabric_services", SERVICE)[0] == "pass"
    assert found(facts_of(changed(hgx_h100, silent, stopped)), "nvidia_fabric_services", SERVICE) == (
        "fail", "P0", "nvidia-fabricmanager: not running")
    assert found(facts_of(changed(hgx_h100, silent, without_unit)), "nvidia_fabric_services", SERVICE)[:2] == (
        "fail", "P0")
    assert found(facts_of(changed(hgx_h100, silent)), "nvidia_fabric") == (
        "not_applicable", "P1", "no GPU of this host reports a fabric state")


def test_without_an_answer_of_nvidia_smi_the_fabric_is_unknown_and_passes_nothing(facts_of):
    findings = judged(facts_of(changed(hgx_h100, no_answer)))
    assert {findings["nvidia_fabric", gpu]["verdict"] for gpu in H100} == {"unknown"}
    assert findings["nvidia_nvlink", None]["verdict"] == "not_applicable"


def test_switches_that_a_guest_has_need_no_daemon_here(facts_of):
    def given_away(tree):
        for switch in NVSWITCHES:
            pci.bind(tree, switch, "vfio-pci")
    facts = facts_of(changed(hgx_h100, said_of_h100(*NO_FABRIC[:2]), stopped, given_away))
    assert found(facts, "nvidia_fabric_services") == ("not_applicable", "P1", "no known NVSwitch fabric")


def test_switches_that_the_host_keeps_need_their_daemon_for_the_guests_too(facts_of):
    def all_to_guests(tree):
        for gpu in H100:
            pci.bind(tree, gpu, "vfio-pci")
    facts = facts_of(changed(hgx_h100, said_of_h100(*NO_FABRIC[:2]), stopped, all_to_guests))
    assert found(facts, "nvidia_fabric_services", SERVICE) == ("fail", "P0", "nvidia-fabricmanager: not running")


def test_links_of_a_gpu_in_mig_mode_may_be_off(facts_of):
    def one_in_mig_mode(tree):
        said = {"power_limit": 700, "default_power_limit": 700, "fabric": FABRIC_UP}
        gpus = [Gpu(gpu, minor, "NVIDIA H100 80GB HBM3", 81559, 131072, pstate="P0", smi={
            **said, **({"current_mig": "Enabled", "pending_mig": "Enabled"} if minor == 4 else {})})
            for minor, gpu in enumerate(H100)]
        tree.program("nvidia-smi.xml", smi_xml(gpus, "535.183.06"))
        plant_links(tree, gpus, 18, {4: 18})
    findings = judged(facts_of(changed(hgx_h100, one_in_mig_mode)))
    assert {subject for check, subject in findings if check == "nvidia_nvlink"} == set(H100) - {H100[4]}
    assert {finding["verdict"] for (check, _gpu), finding in findings.items() if check == "nvidia_nvlink"} == {"pass"}


@pytest.mark.parametrize("state, status, health, priority, reason", [
    ("Completed", "Unknown Error", "", "P0", "status Unknown Error"),
    ("Not Started", "N/A", "", "P0", "state Not Started"),
    ("Completed", "Success", "<bandwidth>Degraded</bandwidth>", "P1", "health: bandwidth: Degraded"),
])
def test_what_a_fabric_says_of_itself(facts_of, state, status, health, priority, reason):
    facts = facts_of(changed(hgx_h100, said_of_h100(state, status, health)))
    assert found(facts, "nvidia_fabric", H100[7]) == ("fail", priority, reason)


def test_a_card_without_a_fabric_is_asked_for_none(facts_of):
    def one_geforce(tree):
        managers.plant_systemd(tree)
        tree.program("nvidia-smi.xml", smi_xml([Gpu("0000:01:00.0", 0, smi=GEFORCE)], "570.133.20"))
    findings = judged(facts_of(one_geforce))
    for check in ("nvidia_fabric", "nvidia_fabric_services", "nvidia_nvlink", "nvswitch_errors"):
        assert findings[check, None]["verdict"] == "not_applicable", check


def test_links_that_are_not_active(facts_of):
    def two_lost(tree):
        plant_links(tree, [Gpu(gpu, minor) for minor, gpu in enumerate(H100)], 18, {2: 2, 5: 18})
    facts = facts_of(changed(hgx_h100, two_lost))
    assert found(facts, "nvidia_nvlink", H100[2]) == ("fail", "P1", "16 of 18 NVLinks are active")
    assert found(facts, "nvidia_nvlink", H100[5]) == ("fail", "P0", "0 of 18 NVLinks are active")
    assert found(facts, "nvidia_nvlink", H100[0])[0] == "pass"


# -- errors of switches -----------------------------------------------------------------------------------------------

SXIDS = (
    (100.1, "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error"),
    (101.1, "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Severity 5 Engine instance 28 Sub-engine instance 00"),
    (102.1, "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"),
    (103.1, "nvidia-nvswitch1: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error"),
)


def test_b07_fatal_errors_of_a_switch_are_p0_and_others_are_noted(facts_of):
    facts = facts_of(changed(hgx_h100, lambda tree: kernel.add_to_log(tree, *SXIDS)))
    assert found(facts, "nvswitch_errors", "0000:c3:00.0") == (
        "fail", "P0", "fatal: SXid 20034: Link 30 LTSSM Fault Up, SXid 24007: Link 28 sourcetrack timeout error")
    assert found(facts, "nvswitch_errors", "0000:c4:00.0") == (
        "fail", "P2", "non-fatal: SXid 12028: Link 32 egress non-posted PRIV error")
    assert found(facts, "nvswitch_errors", "0000:c1:00.0") == ("pass", "P2", "none in the kernel log of this boot")
    assert {judged(facts)["nvidia_xid", gpu]["verdict"] for gpu in H100} == {"pass"}


# -- what is no network card ------------------------------------------------------------------------------------------

def cards(facts):
    return [card["bdf"] for card in derive(facts)["derived"]["rdma_cards"]]


def test_functions_that_manage_nvswitches_are_no_network_cards(facts_of):
    facts = facts_of(hgx_b200)
    assert len(facts["rdma"]["devices"]) == len(B200) + len(MANAGEMENT)
    assert set(cards(facts)).isdisjoint(MANAGEMENT) and len(cards(facts)) == len(B200)
    subjects = {subject for check, subject in judged(facts) if check in ("rdma_link_width", "rdma_maxreadreq")}
    assert subjects == {f"nic:mlx5_{number}" for number in range(8)}


def test_they_are_told_by_their_lanes_where_no_card_has_an_interface(facts_of):
    def without_interfaces(tree):
        for card in cards_of(tree):
            shutil.rmtree(tree.path(f"{pci.device_path(tree, card)}/net"))
    assert len(cards(facts_of(changed(hgx_b200, without_interfaces)))) == len(B200)


def cards_of(tree):
    return [f"0000:{int(gpu[5:7], 16) + 1:02x}:00.0" for gpu in B200]


def test_with_nothing_but_them_nvidia_peermem_is_not_needed(facts_of):
    def without_cards(tree):
        for number in range(8):
            tree.remove(f"/sys/class/infiniband/mlx5_{number}")
    facts = facts_of(changed(hgx_b200, without_cards))
    assert len(facts["rdma"]["devices"]) == len(MANAGEMENT)
    assert found(facts, "nvidia_peermem")[2].startswith("no RDMA device under /sys/class/infiniband")


def test_a_card_of_another_host_without_an_interface_stays_a_card(facts_of):
    """InfiniBand cards have an interface only where ib_ipoib makes one."""
    def without_interfaces(tree):
        for gpu in H100:
            shutil.rmtree(tree.path(f"{pci.device_path(tree, f'0000:{int(gpu[5:7], 16) + 1:02x}:00.0')}/net"))
    assert len(cards(facts_of(changed(hgx_h100, without_interfaces)))) == 8


def test_a_tray_of_a_rack_needs_imex_alone(facts_of):
    facts = facts_of(gb200)
    services = [service["service"] for service in derive(facts)["derived"]["fabric"]["services"]]
    assert services == ["nvidia-imex"]
    assert found(facts, "nvidia_fabric_services", "service:nvidia-imex") == ("pass", "P1", "runs")
