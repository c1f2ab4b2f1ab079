# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole hosts from planted files to verdicts: every finding of the catalogue, written down from what the host is."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive

from expected import BUSES, REFERENCE, SICK, STORY, STORY_AFTER, STORY_BEFORE
from facts_schema import problems
from hosts.proxmox import plant_proxmox
from hosts.reference import SWITCHES, reference
from hosts.sick import sick
from hosts.story_after_reboot import story_after_reboot
from hosts.story_before import root_port, story_before
from verdicts import CHECKS, changes, expand, judged, lines, skipped


def story_with_swap(tree):
    return story_before(tree, swap=True)


def reference_with_a_container(tree):
    """Proxmox VE on the reference host, and one container with the first node by name."""
    reference(tree)
    config = "hostname: vllm\ndev0: /dev/nvidia0,gid=44\ndev1: /dev/nvidiactl,gid=44\ndev2: /dev/nvidia-uvm,gid=44\n"
    tree.file("/etc/udev/rules.d/70-nvidia.rules", 'KERNEL=="nvidia_uvm", RUN+="/usr/bin/nvidia-modprobe -c 0 -u"')
    return plant_proxmox(tree, containers={"101": config}, running=("101",))


OF_A_CONTAINER = {"lxc_gpu_access": "P1", "lxc_stale_rules": "P2", "lxc_overbroad_rules": "P2",
                  "lxc_ignored_settings": "P2", "lxc_unreadable_rules": "P2", "lxc_survives_reboot": "info"}


@pytest.fixture(scope="module")
def story(facts_of):
    return judged(facts_of(story_before))


@pytest.mark.parametrize("plant, table", [
    (story_before, STORY_BEFORE),
    (story_with_swap, {**STORY_BEFORE, "swappiness": "fail P2: 60 -> at_most 10, planned"}),
    (story_after_reboot, STORY_AFTER),
    (reference, REFERENCE),
    (sick, SICK),
])
def test_all_verdicts_of_a_host(facts_of, plant, table):
    assert set(table) == CHECKS
    assert lines(judged(facts_of(plant))) == expand(table)


@pytest.mark.parametrize("plant", [story_before, story_after_reboot, reference, sick])
def test_what_is_derived_from_a_host_has_the_shape_that_checks_rely_on(facts_of, plant):
    known = derive(facts_of(plant))
    assert [problem for gpu in known["gpus"]
            for problem in problems("derived", {"host": known["derived"], "gpu": gpu["derived"]})] == []


# -- the eleven readings of the mission, in words ---------------------------------------------------------------------

@pytest.mark.parametrize("check, reason", [
    ("numa_balancing", "enabled (mode 1; 1 balances nodes, 2 moves pages between memory tiers)"),
    ("nmi_watchdog", "the hard lockup detector is on"),
    ("sched_autogroup_enabled", "on; it concerns only processes of login sessions"),
    ("swappiness", "no swap is active, so vm.swappiness does nothing"),
    ("dirty_ratio", "20 percent of 503 GiB can be dirty before writers are blocked"),
    ("dirty_background_ratio", "writeback starts at 10 percent of 503 GiB"),
    ("rmem_max", "the limit is 212992 bytes"),
    ("wmem_max", "the limit is 212992 bytes"),
    ("perf_event_paranoid", "4: a permission for profilers, without effect on speed"),
    ("nvidia_peermem", "no RDMA device under /sys/class/infiniband: nvidia_peermem lets a network card reach GPU "
                       "memory, transfers between GPUs do not use it"),
])
def test_the_story_gives_its_reasons(story, check, reason):
    assert story[check, None]["reason"] == reason


def test_the_story_names_all_eight_read_requests(story):
    assert [story["pcie_maxreadreq", gpu]["reason"] for gpu in STORY] == ["512 bytes"] * 8
    risks = [story["pcie_maxreadreq", gpu]["fix"]["risk"] for gpu in STORY]
    assert ["Containers with this GPU: 101." in risk for risk in risks] == [True] * 4 + [False] * 4
    assert ["Containers with this GPU: 102." in risk for risk in risks] == [False] * 4 + [True] * 4


def test_with_swap_the_finding_names_the_device(facts_of):
    finding = judged(facts_of(story_with_swap))["swappiness", None]
    assert finding["reason"] == "60, with swap on /dev/dm-0"
    assert finding["fix"]["change"] == {"address": "sysctl:vm.swappiness", "value": "10"}


def test_what_the_story_plans(story):
    assert {finding["fix"]["change"]["address"]: finding["fix"]["change"]["value"]
            for finding in story.values() if finding["fix"]["planned"]} == {
        "sysctl:kernel.numa_balancing": "0", "sysctl:kernel.nmi_watchdog": "0",
        "sysctl:kernel.sched_autogroup_enabled": "0",
        "sysctl:vm.dirty_ratio": "10", "sysctl:vm.dirty_background_ratio": "5",
        "sysctl:net.core.rmem_max": {"at_least": 16777216}, "sysctl:net.core.wmem_max": {"at_least": 16777216},
        **{f"pcie_maxreadreq:{gpu}": 4096 for gpu in STORY}}


def test_what_does_not_apply_is_left_out_of_the_plan_with_its_reason(facts_of, story):
    assert skipped(facts_of(story_before), story, "module") == {
        "nvidia_peermem": "not applicable: no RDMA device under /sys/class/infiniband: nvidia_peermem lets a network "
                          "card reach GPU memory, transfers between GPUs do not use it"}
    assert skipped(facts_of(story_before), story, "sysctl") == {
        "vm.swappiness": "not applicable: no swap is active, so vm.swappiness does nothing",
        "vm.max_map_count": "it is planned only on request: use gpuhost_include, or a value in gpuhost_values",
        "net.core.netdev_max_backlog": "not applicable: packets dropped by this queue since boot: 2 of 171600"}


@pytest.mark.parametrize("profile, overrides", [
    ("inference", {}), ("full", {}), ("training_rdma", {}), ("conservative", {}),
    ("full", {"perf_event_paranoid": {"priority": "P1"}})])
def test_the_permission_of_profilers_is_never_planned(facts_of, profile, overrides):
    finding = judged(facts_of(story_before), profile, overrides=overrides)["perf_event_paranoid", None]
    assert (finding["verdict"], finding["fix"]["planned"]) == ("pass", False)


def test_the_story_has_the_cause_of_its_frequency_driver(story):
    finding = story["cpu_scaling_driver", None]
    assert finding["reason"] == ("default of kernel 6.8.12-9-pve: up to 6.12 amd-pstate is not loaded automatically "
                                 "on servers; amd_pstate=active on the kernel command line loads it")
    assert finding["fix"]["class"] == "reboot"
    assert "device majors" in finding["fix"]["risk"]


def test_the_story_has_transfers_that_may_hang(story):
    finding = story["iommu_acs", None]
    assert finding["reason"] == (f"translated by the IOMMU and redirected at {', '.join(map(root_port, STORY))} "
                                 "(collectives may hang, data may be lost)")
    assert "iommu=pt" in finding["fix"]["how"]


def test_an_idle_link_is_not_called_slow(story):
    assert {story["pcie_link_speed", gpu]["reason"] for gpu in STORY} == {
        "speed not evaluated: idle (2.5 of 32 GT/s, P8, 0 % used)"}


# -- the reference host -----------------------------------------------------------------------------------------------

def test_a_node_is_the_gpu_with_its_minor_not_the_first_on_the_bus(facts_of):
    found = judged(facts_of(reference_with_a_container))
    named = {gpu: "Containers with this GPU: 101." in found["pcie_maxreadreq", gpu]["fix"]["risk"] for gpu in BUSES}
    assert [gpu for gpu, is_named in named.items() if is_named] == ["0000:75:00.0"]
    assert "No container has this GPU." in found["pcie_maxreadreq", "0000:06:00.0"]["fix"]["risk"]


def test_one_pinned_container_less_changes_the_plan(facts_of):
    """The container on the reference host has no CPUs of its own: it would lose automatic placement."""
    facts = facts_of(reference_with_a_container)
    before, after = judged(facts_of(reference)), judged(facts)
    assert changes(before, after) == {
        ("numa_balancing", None): "fail P1: 1 -> 0",
        ("nvidia_device_nodes", None): "pass P1: []",
        **{pair: text for check, priority in OF_A_CONTAINER.items() for pair, text in (
            ((check, None), None), ((check, "lxc:101"), f"pass {priority}: []"))},
        ("guest_cpus", None): None, ("guest_memory", None): None, ("guest_memory", "lxc:101"): "pass P2: []",
        ("guest_cpus", "lxc:101"): 'fail P2: ["it may run on all CPUs of the host"] -> empty true'}
    assert skipped(facts, after, "sysctl") == {
        "kernel.numa_balancing": "running guests that are not pinned to CPUs: 1. They would lose automatic placement: "
                                 "pin them first, or declare the host as dedicated (gpuhost_dedicated)",
        "net.core.netdev_max_backlog": "not applicable: packets dropped by this queue since boot: 0 of 81200"}
    assert judged(facts, dedicated=True)["numa_balancing", None]["fix"]["planned"] is True


def test_the_reference_host_in_words(facts_of):
    found = judged(facts_of(reference))
    assert found["cpus_offline", None]["reason"] == "1 of 256 CPUs are offline: 239"
    assert found["iommu_acs", None]["reason"] == "no translation and no redirection between 8 GPUs"
    assert found["nvidia_device_nodes", None]["reason"] == (
        "no Proxmox VE containers here: other runtimes create the nodes themselves")
    assert found["cpu_governor", None]["reason"] == (
        "the driver is in active mode: the processor follows the energy performance preference, see cpu_epp")
    assert {found["pcie_bottleneck", gpu]["reason"] for gpu in BUSES} == {"63.0 GB/s per direction up to the root port"}
    assert len(SWITCHES) * 2 == len(BUSES) == 8


# -- after the reboot -------------------------------------------------------------------------------------------------

def test_the_reboot_moved_the_major_that_a_container_has_written_down(facts_of):
    def rules(plant):
        containers = facts_of(plant)["guests"]["containers"]["value"]
        return {one["id"]: {rule["major"]: rule["owners"] for rule in one["allow"]} for one in containers}

    nvidia = ["nvidia", "nvidia-modeset", "nvidiactl"]
    assert rules(story_before) == {"101": {195: nvidia, 509: ["nvidia-uvm"]}, "102": {}}
    assert rules(story_after_reboot) == {"101": {195: nvidia, 509: []}, "102": {}}
    assert facts_of(story_before)["identity"]["boot_id"] != facts_of(story_after_reboot)["identity"]["boot_id"]
