# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shipped checks: what each must have, its own examples, and whole machines that must not raise false alarms."""
from __future__ import annotations

import json
import re

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import (
    FOLDER,
    Profile,
    load_file,
    shipped,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.judge import judge

import neutral_facts as neutral
from neutral_facts import ABSENT, lacking, link, merge, ok, pcie

CHECKS = {check.id: check for check in shipped()}
EXAMPLES = [(check.id, verdict) for check in CHECKS.values() for verdict in check.examples]
PROFILE = Profile("neutral")

# Every check, its priority, and its evidence; * stands for contested, a second priority for what it escalates to.
CATALOGUE = {
    "amdgpu_errors": "P0 kernel_doc",
    "clocksource": "P1 kernel_doc",
    "cmdline_configured": "info P2 vendor",
    "cmdline_ignored": "info P2 kernel_doc",
    "container_nodes": "P1 P0 vendor",
    "cpu_boost": "P1 kernel_doc",
    "cpu_consistency": "P2 community",
    "cpu_epp": "P1 kernel_doc",
    "cpu_frequency_limits": "P1 kernel_doc",
    "cpu_governor": "P1 kernel_doc",
    "cpu_isolation": "info kernel_doc *",
    "cpu_max_perf_pct": "P1 kernel_doc",
    "cpu_microcode": "P1 kernel_doc",
    "cpu_mitigations": "info kernel_doc *",
    "cpu_scaling_driver": "P2 kernel_doc *",
    "cpu_smt": "info kernel_doc *",
    "cpus_offline": "P2 kernel_doc",
    "cstate_latency": "info vendor *",
    "dirty_background_ratio": "info kernel_doc *",
    "dirty_ratio": "info kernel_doc *",
    "firmware_settings": "info vendor",
    "gpu_consistency": "P2 community",
    "gpu_driver": "P1 P0 vendor",
    "gpu_interrupts": "P2 kernel_doc",
    "gpu_numa_node": "P1 kernel_doc",
    "gpu_one_owner": "P1 vendor",
    "gpu_runtime_pm": "P2 vendor *",
    "guest_cpus": "P2 vendor", "guest_memory": "P2 kernel_doc", "guest_shared_cores": "P2 kernel_doc",
    "guest_interrupts": "info kernel_doc", "guest_pinned_memory": "P1 kernel_doc",
    "vm_virtual_nodes": "P2 vendor", "vm_numa_settings": "P2 P1 vendor", "vm_cpu_type": "P2 vendor",
    "vm_pcie": "P2 P1 vendor", "vm_balloon": "P2 vendor", "vm_hugepages": "info vendor *",
    "guest_pending_devices": "info vendor",
    "ha_guests": "P1 vendor",
    "hugepages_unused": "P2 kernel_doc",
    "hardware_errors": "P2 P0 kernel_doc",
    "iommu_acs": "P2 P0 vendor *",
    "iommu_faults": "P2 P0 kernel_doc",
    "gpu_nic_path": "P1 vendor *",
    "iommu_for_guests": "P1 kernel_doc",
    "iommu_many_cpus": "P1 vendor *",
    "kernel_lockups": "P2 P1 kernel_doc",
    "kernel_preemption": "P1 vendor",
    "kernel_release": "info kernel_doc",
    "ksm": "P2 kernel_doc *",
    "lxc_gpu_access": "P1 P0 vendor",
    "lxc_ignored_settings": "P2 vendor",
    "lxc_library_mounts": "P1 vendor",
    "lxc_memlock": "P1 vendor",
    "lxc_overbroad_rules": "P2 P1 vendor",
    "lxc_shm_size": "P1 vendor",
    "lxc_stale_rules": "P2 P1 kernel_doc",
    "lxc_survives_reboot": "info vendor",
    "lxc_unreadable_rules": "P2 P1 vendor",
    "max_map_count": "info kernel_doc",
    "memlock": "P1 kernel_doc",
    "min_free_kbytes": "P2 kernel_doc",
    "netdev_max_backlog": "P2 kernel_doc",
    "memory_correctable": "P2 community",
    "memory_uncorrectable": "P0 kernel_doc",
    "next_kernel": "info P2 vendor",
    "next_kernel_nvidia": "P1 vendor",
    "nic_duplex": "P1 kernel_doc",
    "nmi_watchdog": "info kernel_doc",
    "numa_balancing": "P1 kernel_doc *",
    "numa_memory_balance": "P2 vendor",
    "numa_node_memory": "P1 kernel_doc",
    "numa_nodes_per_socket": "info vendor *",
    "nvidia_compute_mode": "P2 P1 vendor *",
    "nvidia_container_library": "P0 vendor",
    "nvidia_device_nodes": "P1 P0 vendor",
    "nvidia_fabric": "P1 P0 vendor",
    "nvidia_fabric_services": "P1 P0 vendor",
    "nvidia_flavour": "P1 P0 vendor",
    "nvidia_gpu_count": "P0 vendor",
    "nvidia_library": "P0 vendor",
    "nvidia_memory_errors": "P1 P0 vendor",
    "nvidia_module": "P1 P0 vendor",
    "nvidia_module_messages": "info vendor",
    "nvidia_nvlink": "P1 P0 vendor",
    "nvidia_peermem": "P1 vendor",
    "nvidia_nouveau": "P1 P0 vendor",
    "nvidia_options": "P2 vendor",
    "nvidia_pending_modes": "P1 vendor",
    "nvidia_persistence": "P1 vendor",
    "nvidia_power_limit": "P2 vendor *",
    "nvidia_recovery": "P0 vendor",
    "nvidia_registry_keys": "P2 community *",
    "nvidia_relaxed_ordering": "P2 vendor *",
    "nvidia_reset_required": "P0 vendor",
    "nvidia_slowdown": "P1 P0 vendor",
    "earlier_boots": "info P1 vendor",
    "nvidia_xid": "P2 P0 P1 vendor",
    "nvidia_xid_program": "info vendor",
    "nvme_errors": "P2 kernel_doc",
    "nvswitch_errors": "P2 P0 vendor",
    "oom_kills": "P1 kernel_doc",
    "other_managers": "info vendor",
    "overcommit_memory": "P2 kernel_doc",
    "pcie_aer": "P1 P0 kernel_doc",
    "pcie_aer_corrected": "P1 community",
    "pcie_aspm": "P2 kernel_doc",
    "pcie_bar_assigned": "P1 P0 kernel_doc *",
    "pcie_bar_size": "P1 vendor",
    "pcie_bottleneck": "info P2 kernel_doc",
    "pcie_bus_tuning": "P2 kernel_doc",
    "pcie_extended_tags": "P2 kernel_doc",
    "pcie_link_speed": "P1 kernel_doc",
    "pcie_link_width": "P1 P0 kernel_doc",
    "pcie_maxpayload": "P1 kernel_doc",
    "pcie_maxreadreq": "info community *",
    "perf_event_paranoid": "info kernel_doc",
    "rdma_link_width": "P1 vendor",
    "rdma_maxreadreq": "P2 vendor",
    "rdma_port_rate": "P1 vendor",
    "rdma_port_state": "info P1 kernel_doc",
    "nvidia_branch": "info vendor",
    "rmem_max": "info kernel_doc *",
    "sched_autogroup_enabled": "info kernel_doc",
    "shm_size": "P1 vendor",
    "somaxconn": "P2 kernel_doc",
    "swappiness": "P2 kernel_doc *",
    "sysctl_at_boot": "P2 kernel_doc",
    "sysctl_conf": "P2 vendor",
    "target_kind": "info kernel_doc",
    "thp_defrag": "P2 kernel_doc",
    "thp_enabled": "P1 kernel_doc *",
    "thp_shmem": "P2 kernel_doc",
    "thp_size": "P1 kernel_doc",
    "uncore_frequency": "P2 kernel_doc",
    "vm_gpu_conflict": "info P1 vendor",
    "vm_hostpci": "P1 P0 vendor",
    "vm_survives_reboot": "info vendor",
    "wmem_max": "info kernel_doc *",
    "zfs_arc_max": "P2 vendor *",
    "zone_reclaim_mode": "P1 kernel_doc",
}
ALWAYS_APPLY = {"kernel_release"}


def judged(facts: dict, *names: str, **choices) -> dict[str, dict]:
    """The findings by `check` or `check subject`."""
    findings = judge(facts, list(shipped()), PROFILE, only=names, **choices)
    return {" ".join(filter(None, (finding["check"], finding["subject"]))): finding for finding in findings}


def verdicts(facts: dict, *names: str) -> dict[str, str]:
    return {name: finding["verdict"] for name, finding in judged(facts, *names).items()}


def those(facts: dict, verdict: str) -> dict[str, str]:
    """Which findings have a verdict, with their priority."""
    return {name: finding["priority"] for name, finding in judged(facts).items() if finding["verdict"] == verdict}


def texts(finding: dict) -> list[str]:
    fix = finding["fix"]
    return [text for text in (finding["title"], finding["reason"], finding["why"], fix["not_planned_because"],
                              *(fix[key] for key in ("how", "risk", "undo", "persist"))) if text]


# -- what each check must have --------------------------------------------------------------------------------

def test_the_catalogue_is_what_this_table_says():
    found = {}
    for check in CHECKS.values():
        escalated = [escalation.priority for escalation in check.escalations]
        parts = [check.priority, *escalated, check.evidence, "*" if check.contested else None]
        found[check.id] = " ".join(filter(None, parts))
    assert found == CATALOGUE


@pytest.mark.parametrize("file", sorted((FOLDER / "checks").glob("*.yml")), ids=lambda path: path.name)
def test_every_file_holds_against_the_schemas(file):
    assert load_file(file)


def test_ids_are_unique():
    assert len(CHECKS) == len(shipped())


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_explains_itself(name):
    check = CHECKS[name]
    assert check.sources and all(len(source) > 10 for source in check.sources)
    assert len(check.why.text.split()) > 8
    assert not check.why.text.count(". ") > 3
    if check.each:
        assert check.subject
    if check.fix.kind == "runtime":
        assert check.fix.risk and check.fix.undo and check.fix.persist
        assert check.priority != "P0" and not check.escalations
    elif check.fix.kind != "none":
        assert check.fix.how


@pytest.mark.parametrize("name", [name for name, check in CHECKS.items() if check.fix.kind in ("reboot", "firmware")])
def test_what_needs_a_reboot_says_what_it_breaks_and_where_this_host_has_its_command_line(name):
    fix = CHECKS[name].fix
    assert "{host.derived.boot.risk}" in fix.risk.text
    assert "command line" not in fix.how.text or "host.derived.boot.edit" in fix.how.text


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_has_examples(name):
    wanted = {"pass", "fail"} | (set() if name in ALWAYS_APPLY else {"not_applicable"})
    assert wanted <= set(CHECKS[name].examples)


# -- their own examples ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("name, verdict", EXAMPLES)
def test_example(name, verdict):
    facts = merge(neutral.epyc(), CHECKS[name].examples[verdict])
    found = set(verdicts(facts, name).values())
    # One odd GPU among others is an example of failing; the other verdicts hold for every subject.
    assert found == {verdict} or (verdict == "fail" and found == {"fail", "pass"})


@pytest.mark.parametrize("name, verdict", EXAMPLES)
def test_no_text_of_an_example_stumbles(name, verdict):
    facts = merge(neutral.epyc(), CHECKS[name].examples[verdict])
    for finding in judged(facts, name).values():
        for text in texts(finding):
            assert not re.search(r"asked of|there is no '|could not be read|\(an? \w+ is |needs numbers|\{|\}", text) \
                or verdict == "unknown", text


# -- machines without a fault ---------------------------------------------------------------------------------

def test_nothing_to_find_on_a_tuned_host():
    assert those(neutral.epyc(), "fail") == {}
    assert those(neutral.epyc(), "unknown") == {}


def test_a_workstation_raises_no_alarm():
    """Stock settings: what deviates are small tunables, no missing lane, no swap, no NUMA, no ACS and no THP."""
    assert those(neutral.workstation(), "fail") == {
        "nmi_watchdog": "info", "rmem_max": "info", "wmem_max": "info", "pcie_maxreadreq 0000:01:00.0": "info",
        "cstate_latency state3": "info", "sched_autogroup_enabled": "info"}
    assert those(neutral.workstation(), "unknown") == {}


def test_an_intel_host_raises_no_alarm():
    """powersave is the governor of intel_pstate in active mode, there is no boost file, and its NUMA is placed."""
    assert those(neutral.xeon(), "fail") == {"cstate_latency state3": "info"}
    assert those(neutral.xeon(), "unknown") == {}
    assert judged(neutral.xeon())["cpu_governor"]["verdict"] == "not_applicable"
    assert judged(neutral.xeon())["cpu_boost no_turbo"]["verdict"] == "pass"


def test_a_virtual_machine_raises_no_alarm():
    found = judged(neutral.vm())
    assert those(neutral.vm(), "fail") == {}
    assert those(neutral.vm(), "unknown") == {}
    assert {name: found[name]["reason"] for name in ("pcie_maxreadreq", "nvidia_module", "clocksource", "swappiness",
                                                     "numa_balancing", "rmem_max")} == {
        "pcie_maxreadreq": "no GPU on this host",
        "nvidia_module": "no NVIDIA GPU on this host",
        "clocksource": "the target is a virtual machine (kvm), where the hypervisor provides the time",
        "swappiness": "no GPU is used by this host",
        "numa_balancing": "no GPU is used by this host",
        "rmem_max": "no GPU is used by this host"}


def test_a_container_is_told_to_ask_its_host():
    found = judged(neutral.container())
    assert {name for name, finding in found.items() if finding["verdict"] == "fail"} == {"target_kind"}
    assert {name for name, finding in found.items() if finding["verdict"] == "unknown"} == set()
    assert found["numa_balancing"]["reason"] == \
        "the target is a container (lxc): audit its host"


def test_a_gpu_that_a_vm_was_given_is_judged_without_the_emulated_ports():
    facts = merge(neutral.epyc(), {
        "identity": {"kind": "vm", "technology": "kvm"},
        "gpus": [{"path": ["0000:00:1c.0"], "pcie": {"value": {"link": {"width": 1, "speed_gts": 2.5}}}}],
        "nvidia": {"proc_gpus": {"value": [{}]}, "smi": {"gpus": [{}]}}, "placement": {"guests": {"value": []}}})
    found = verdicts(facts)
    assert {name for name, verdict in found.items() if verdict in ("fail", "unknown")} == set()
    assert found["pcie_link_width 0000:03:00.0"] == "not_applicable"
    assert found["gpu_driver 0000:03:00.0"] == "pass"


def test_without_root_registers_are_unknown_and_nothing_fails():
    facts = neutral.epyc()
    facts["privileged"] = False
    for device in [*facts["gpus"], *facts["ports"]]:
        device.update({"pcie": lacking("denied"), "acs": lacking("denied")})
    found = judged(facts)
    assert those(facts, "fail") == {}
    assert {finding["check"] for finding in found.values() if finding["verdict"] == "unknown"} == {
        "pcie_maxreadreq", "pcie_maxpayload", "pcie_link_width", "pcie_link_speed", "pcie_bottleneck",
        "pcie_extended_tags", "gpu_consistency", "iommu_acs"}
    assert found["iommu_acs"]["reason"] == "ACS (lspci -vvv) of 0000:02:00.0 could not be read: it needs root"


# -- one GPU of eight is different ----------------------------------------------------------------------------

ODD = "0000:23:00.0"        # the third


def differences(change: dict, **more) -> dict[str, str]:
    """What a change of one GPU of eight does to the verdicts of a host without faults."""
    facts = merge_facts(change, **more)
    before, after = verdicts(neutral.epyc()), verdicts(facts)
    return {name: verdict for name, verdict in after.items() if before.get(name) != verdict}


def merge_facts(change: dict, **more) -> dict:
    facts = {**neutral.epyc(), **more}
    facts["gpus"] = [merge(gpu, change) if gpu["bdf"] == ODD else gpu for gpu in facts["gpus"]]
    return facts


def test_one_at_half_width():
    assert differences({"pcie": {"value": {"link": {"width": 8}}}}) == {
        f"pcie_link_width {ODD}": "fail"}


def test_one_with_another_read_request():
    assert differences({"pcie": {"value": {"max_read_request": 256}}}) == {
        f"pcie_maxreadreq {ODD}": "fail", f"gpu_consistency {ODD}": "fail"}


def test_one_that_is_gone():
    gone = {"state": "gone", "pcie": lacking("gone"), "acs": lacking("gone"), "resizable_bar": lacking("gone")}
    assert differences(gone) == {
        f"gpu_driver {ODD}": "fail", **{f"{check} {ODD}": "unknown" for check in (
            "pcie_maxreadreq", "pcie_maxpayload", "pcie_link_width", "pcie_link_speed", "pcie_bottleneck",
            "pcie_extended_tags", "gpu_consistency")},
        f"pcie_bar_assigned {ODD}": "not_applicable"}
    finding = judged(merge_facts(gone))[f"gpu_driver {ODD}"]
    assert (finding["priority"], finding["actual"]) == ("P0", "gone")
    assert judged(merge_facts(gone))[f"pcie_maxreadreq {ODD}"]["actual"] is None


OF_NVIDIA_SMI = ("nvidia_persistence", "nvidia_power_limit", "nvidia_slowdown", "nvidia_memory_errors",
                 "nvidia_pending_modes", "nvidia_compute_mode", "nvidia_recovery")
PASSED_THROUGH = {f"{check} {ODD}": "not_applicable" for check in (
    "pcie_maxreadreq", "pcie_maxpayload", "pcie_link_width", "pcie_link_speed", "pcie_bottleneck", "pcie_bar_size",
    "pcie_bar_assigned", "pcie_extended_tags", "gpu_consistency", "gpu_driver", "gpu_runtime_pm", "gpu_interrupts",
    "nvidia_flavour", *OF_NVIDIA_SMI)}


def test_one_on_vfio_pci():
    found = differences({"driver": "vfio-pci", "state": "passed_through"})
    assert found == PASSED_THROUGH


def test_one_that_a_stopped_vm_names():
    claim = {"claimed_by": ok([{"vm": "200", "key": "hostpci0", "value": "0000:23:00"}]), "state": "passed_through"}
    assert differences(claim) == {**PASSED_THROUGH, f"gpu_one_owner {ODD}": "fail"}
    assert differences({**claim, "containers": []}) == {
        **PASSED_THROUGH, f"gpu_one_owner {ODD}": "pass", "guest_interrupts lxc:101": "fail"}
    assert judged(merge_facts(claim))[f"pcie_maxreadreq {ODD}"]["reason"] == "the GPU belongs to VM 200 (hostpci0)"


def test_one_that_sleeps():
    asleep = {"state": "asleep", "pcie": lacking("asleep"), "acs": lacking("asleep"),
              "resizable_bar": lacking("asleep")}
    assert differences(asleep) == {f"{check} {ODD}": "not_applicable" for check in (
        "pcie_maxreadreq", "pcie_maxpayload", "pcie_link_width", "pcie_link_speed", "pcie_bottleneck", "pcie_bar_size",
        "pcie_bar_assigned", "pcie_extended_tags", "gpu_consistency", *OF_NVIDIA_SMI)}


def test_one_without_a_driver():
    assert differences({"driver": None}) == {
        f"gpu_driver {ODD}": "fail", f"gpu_runtime_pm {ODD}": "not_applicable",
        **{f"{check} {ODD}": "not_applicable" for check in OF_NVIDIA_SMI}}
    assert judged(merge_facts({"driver": None}))[f"gpu_driver {ODD}"]["priority"] == "P1"


def test_a_virtual_function():
    found = differences({"virtual_function": True, "physical_function": "0000:21:00.0"})
    assert found[f"pcie_maxreadreq {ODD}"] == "not_applicable"
    assert "fail" not in found.values()


# -- links and speed ------------------------------------------------------------------------------------------

def test_idle_speed_passes_and_says_so():
    finding = judged(neutral.epyc())[f"pcie_link_speed {ODD}"]
    assert finding["verdict"] == "pass"
    assert finding["reason"] == "speed not evaluated: idle (2.5 of 32 GT/s, P8, 0 % used)"


def test_a_locked_speed_fails_even_at_rest():
    locked = {"pcie": {"value": {"link": {"speed_gts": 5.0, "autonomous_speed_disabled": True}}}}
    finding = judged(merge_facts(locked))[f"pcie_link_speed {ODD}"]
    assert (finding["verdict"], finding["priority"]) == ("fail", "P1")
    assert finding["reason"] == "5.0 of 32.0 GT/s, locked: Hardware Autonomous Speed Disable is set (LnkCtl2)"


@pytest.mark.parametrize("vendor, class_, driver, verdict", [
    ("10de", "030200", "nvidia", "pass"), ("10de", "030000", "nouveau", "fail"), ("1002", "120000", "amdgpu", "pass"),
    ("1002", "120000", "radeon", "fail"), ("8086", "038000", "xe", "pass"), ("8086", "038000", None, "fail"),
    ("1da3", "120000", "habanalabs", "pass"),                       # Gaudi, of Habana Labs
    ("1da3", "120000", None, "fail"),
    ("8086", "120000", "dfl-pci", "not_applicable"),                # an FPGA card has a driver of its own
])
def test_each_vendor_has_its_drivers(vendor, class_, driver, verdict):
    found = judged(merge(neutral.epyc(), {"gpus": [{"vendor": vendor, "class": class_, "driver": driver}]}))
    finding = next(finding for key, finding in found.items() if key.split()[0] == "gpu_driver")
    assert finding["verdict"] == verdict


def test_a_display_on_nouveau_is_of_no_use_for_computing_alone():
    problem = judged(merge(neutral.epyc(), {"gpus": [{"driver": "nouveau"}]}))["gpu_driver 0000:03:00.0"]["problem"]
    assert problem.endswith("not to a driver for computing: CUDA and ROCm cannot use it")


def test_a_virtual_function_without_a_node_of_its_own_has_a_known_owner():
    """A host driver for vGPU is bound to it, and only a VM can use it."""
    claim = {"claimed_by": ok([{"vm": "100", "key": "hostpci0", "value": "0000:03:00.4"}])}
    gpu = {"bdf": "0000:03:00.4", "virtual_function": True, "physical_function": "0000:03:00.0", "minor": ABSENT,
           "containers": [], **claim}
    assert judged(merge(neutral.epyc(), {"gpus": [gpu]}))["gpu_one_owner 0000:03:00.4"]["verdict"] == "pass"


def test_a_card_in_an_older_slot_is_limited_not_broken():
    slot = ok(pcie("root_port", link(max_speed=16.0, max_width=8), 512))
    facts = merge(neutral.epyc(), {"gpus": [{"path": ["0000:00:01.1"],
                                             "pcie": {"value": {"link": {"width": 8, "speed_gts": 16.0}}}}]})
    facts["ports"] = [merge(neutral.port("0000:00:01.1", "root_port", 0), {"pcie": slot})]
    found = judged(facts)
    assert found["pcie_link_width 0000:03:00.0"]["verdict"] == "pass"
    assert found["pcie_link_speed 0000:03:00.0"]["verdict"] == "pass"
    bottleneck = found["pcie_bottleneck 0000:03:00.0"]
    assert (bottleneck["verdict"], bottleneck["priority"]) == ("fail", "info")
    assert bottleneck["reason"] == "16 GT/s x8 at 0000:00:01.1: 15.8 GB/s per direction, the GPU supports 63.0"
    assert bottleneck["fix"]["how"].startswith("Nothing, if this is the best slot")


def test_a_card_behind_less_than_another_card_of_the_host_has_is_more_than_a_remark():
    """A Gen4 card in a Gen5 slot with eight lanes: neither end is slow, their common link is."""
    facts = merge(neutral.epyc(), {"gpus": [
        {"path": ["0000:00:01.1"], "pcie": {"value": {"link": {"max_speed_gts": 16.0, "speed_gts": 16.0, "width": 8}}}},
        {"bdf": "0000:23:00.0", "path": ["0000:20:01.1"]}]})
    facts["ports"] = [
        merge(neutral.port("0000:00:01.1", "root_port", 0),
              {"pcie": ok(pcie("root_port", link(32.0, max_width=8), 512))}),
        neutral.port("0000:20:01.1", "root_port", 0)]
    bottleneck = judged(facts)["pcie_bottleneck 0000:03:00.0"]
    assert (bottleneck["verdict"], bottleneck["priority"]) == ("fail", "P2")
    assert bottleneck["reason"] == "16 GT/s x8 at 0000:00:01.1: 15.8 GB/s per direction, the GPU supports 31.5"
    assert bottleneck["fix"]["how"].startswith("The path of 0000:23:00.0 carries 63.0 GB/s: compare slot")


def test_an_uplink_that_lost_lanes_is_more_than_a_remark():
    narrow = {"pcie": {"value": {"link": {"width": 8}}}}
    facts = merge(neutral.epyc(), {"gpus": [{"path": ["0000:02:00.0", "0000:01:00.0", "0000:00:01.1"]}]})
    facts["ports"] = [neutral.port("0000:02:00.0", "downstream_port", 0),
                      merge(neutral.port("0000:01:00.0", "upstream_port", 0), narrow),
                      merge(neutral.port("0000:00:01.1", "root_port", 0), narrow)]
    bottleneck = judged(facts)["pcie_bottleneck 0000:03:00.0"]
    assert (bottleneck["verdict"], bottleneck["priority"]) == ("fail", "P2")
    assert bottleneck["reason"] == ("32 GT/s x8 at 0000:00:01.1, fewer lanes than both ends support: 31.5 GB/s per "
                                    "direction, the GPU supports 63.0")


@pytest.mark.parametrize("fatal, nonfatal, verdict, priority", [
    (0, 0, "pass", "P1"), (0, 1, "fail", "P1"), (1, 0, "fail", "P0")])
def test_fatal_errors_are_urgent(fatal, nonfatal, verdict, priority):
    counters = {"aer": {"value": {"correctable": 900, "fatal": fatal, "nonfatal": nonfatal}}}
    finding = judged(merge_facts(counters))[f"pcie_aer {ODD}"]
    assert (finding["verdict"], finding["priority"]) == (verdict, priority)


@pytest.mark.parametrize("change, verdict, reason", [
    ({"largest_bar": 256 << 20}, "fail", "268435456 bytes, 102641958912 are needed"),
    ({"memory_mib": ABSENT}, "pass", None),
    ({"memory_mib": ABSENT, "resizable_bar": lacking("gone")}, "unknown",
     "Resizable BAR (config space) could not be read: the device is gone (it reads all ones)"),
    ({"memory_mib": ABSENT, "resizable_bar": ok([])}, "unknown",
     "the size of the GPU's memory (nvidia-smi -q) could not be read: not present on this host"),
])
def test_the_window_to_the_memory(change, verdict, reason):
    finding = judged(merge_facts(change))[f"pcie_bar_size {ODD}"]
    assert (finding["verdict"], finding["reason"]) == (verdict, reason)


# -- transfers between GPUs -----------------------------------------------------------------------------------

@pytest.mark.parametrize("iommu, redirect, verdict, priority", [
    ("identity", False, "pass", "P2"), ("identity", True, "fail", "P2"), ("DMA-FQ", False, "fail", "P2"),
    ("DMA-FQ", True, "fail", "P0")])
def test_translated_and_redirected_together_are_urgent(iommu, redirect, verdict, priority):
    facts = neutral.epyc()
    for gpu in facts["gpus"]:
        gpu["iommu_type"] = ok(iommu)
    for port in facts["ports"]:
        if port["acs"]["value"]:
            port["acs"] = ok(neutral.acs(redirect))
    finding = judged(facts)["iommu_acs"]
    assert (finding["verdict"], finding["priority"]) == (verdict, priority)


@pytest.mark.parametrize("flavour, verdict", [("proprietary", "not_applicable"), ("open", "unknown")])
def test_two_gaming_cards_have_no_transfers_to_lose_unless_their_modules_were_changed(flavour, verdict):
    facts = merge(neutral.epyc(), {"gpus": [{"model": "NVIDIA GeForce RTX 4090", "iommu_type": ok("DMA-FQ")},
                                            {"bdf": "0000:04:00.0", "model": "NVIDIA GeForce RTX 4090"}],
                                   "nvidia": {"flavour": flavour}})
    assert verdicts(facts)["iommu_acs"] == verdict


# -- values ---------------------------------------------------------------------------------------------------

DISK = {"memory": {"swap": {"value": [neutral.disk_swap()]}}}


@pytest.mark.parametrize("name, key, fragment, change", [
    ("numa_balancing", "kernel.numa_balancing", {}, ("1", "0")),
    ("numa_balancing", "kernel.numa_balancing", {}, ("2", "0")),
    ("nmi_watchdog", "kernel.nmi_watchdog", {}, ("1", "0")),
    ("sched_autogroup_enabled", "kernel.sched_autogroup_enabled", {}, ("1", "0")),
    ("swappiness", "vm.swappiness", DISK, ("60", "10")),
    ("dirty_ratio", "vm.dirty_ratio", {}, ("20", "10")),
    ("dirty_background_ratio", "vm.dirty_background_ratio", {}, ("10", "5")),
    ("rmem_max", "net.core.rmem_max", {}, ("212992", {"at_least": 16777216})),
    ("wmem_max", "net.core.wmem_max", {}, ("212992", {"at_least": 16777216})),
    ("zone_reclaim_mode", "vm.zone_reclaim_mode", {}, ("1", "0")),
])
def test_the_change_of_a_sysctl(name, key, fragment, change):
    now, wanted = change
    finding = judged(merge(neutral.epyc(), {**fragment, "sysctl": {key: ok(now)}}), name, include=[name])[name]
    assert finding["verdict"] == "fail"
    assert finding["fix"]["change"] == {"address": f"sysctl:{key}", "value": wanted}
    assert finding["fix"]["planned"] is True


@pytest.mark.parametrize("name, key, fragment, value", [
    ("swappiness", "vm.swappiness", DISK, "1"), ("dirty_ratio", "vm.dirty_ratio", {}, "5"),
    ("rmem_max", "net.core.rmem_max", {}, "268435456"), ("nmi_watchdog", "kernel.nmi_watchdog", {}, "0"),
    ("perf_event_paranoid", "kernel.perf_event_paranoid", {}, "2"),
])
def test_values_that_are_good_enough_stay(name, key, fragment, value):
    assert verdicts(merge(neutral.epyc(), {**fragment, "sysctl": {key: ok(value)}}), name) == {name: "pass"}


def test_profilers_permission_is_never_planned_by_itself():
    facts = merge(neutral.epyc(), {"sysctl": {"kernel.perf_event_paranoid": ok("-1")}})
    finding = judged(facts)["perf_event_paranoid"]
    assert (finding["verdict"], finding["priority"], finding["fix"]["planned"]) == ("fail", "info", False)


@pytest.mark.parametrize("swap, reason", [
    ([], "no swap is active, so vm.swappiness does nothing"),
    ([{**neutral.disk_swap(), "device": "/dev/zram0", "zram": True}],
     "only zram swap is active: it is in memory, and a high swappiness is right for it"),
])
def test_swappiness_needs_swap_on_disk(swap, reason):
    facts = merge(neutral.epyc(), {"memory": {"swap": {"value": swap}}, "sysctl": {"vm.swappiness": ok("60")}})
    finding = judged(facts)["swappiness"]
    assert (finding["verdict"], finding["reason"]) == ("not_applicable", reason)


@pytest.mark.parametrize("second, verdict", [
    (ok(402653184), "fail"), (ok(0), "not_applicable"), (lacking("denied"), "unknown")])
def test_only_nodes_with_memory_count(second, verdict):
    facts = merge(neutral.epyc(), {"numa": {"nodes": [{}, {"node": "node1", "id": 1, "memory_kib": second}]},
                                   "sysctl": {"kernel.numa_balancing": ok("1"), "vm.zone_reclaim_mode": ok("1")},
                                   "gpus": [{"numa_node": ok(-1)}]})
    names = ("numa_balancing", "zone_reclaim_mode", "gpu_numa_node")
    assert set(verdicts(facts, *names).values()) == {verdict}


@pytest.mark.parametrize("containers, dedicated, planned, because", [
    (0, False, True, None), (3, True, True, None),
    (3, False, False, "running guests that are not pinned to CPUs: 3. They would lose automatic placement: pin them "
                      "first, or declare the host as dedicated (gpuhost_dedicated)"),
    (None, True, True, None),
    (None, False, False, "which running guests are bound to no CPUs (/etc/pve, /proc) could not be read: "
                         "the content is not valid"),
])
def test_numa_balancing_is_planned_only_where_guests_are_pinned(containers, dedicated, planned, because):
    unpinned = lacking("unparsable") if containers is None else ok(containers)
    facts = merge(neutral.epyc(), {"sysctl": {"kernel.numa_balancing": ok("1")},
                                   "guests": {"unpinned_running": unpinned}})
    fix = judged(facts, "numa_balancing", include=["numa_balancing"], dedicated=dedicated)["numa_balancing"]["fix"]
    assert (fix["planned"], fix["not_planned_because"]) == (planned, because)


@pytest.mark.parametrize("change, because", [
    ({}, None),
    ({"users": ok([{"pid": 4242, "command": "vllm", "container": "101"}])},
     "vllm (process 4242) uses the GPU: stop it first"),
    ({"claimed_by": lacking("unparsable")}, "whether a VM is given the GPU (/etc/pve) could not be read: "
                                            "the content is not valid"),
    ({"virtual_functions": 2}, "the GPU has virtual functions enabled, whose guests share its link"),
])
def test_when_a_read_request_is_not_changed(change, because):
    facts = merge_facts(merge({"pcie": {"value": {"max_read_request": 512}}}, change))
    fix = judged(facts, "pcie_maxreadreq", include=["pcie_maxreadreq"])[f"pcie_maxreadreq {ODD}"]["fix"]
    assert (fix["planned"], fix["not_planned_because"]) == (because is None, because)
    assert fix["change"] == {"address": f"pcie_maxreadreq:{ODD}", "value": 4096}


def test_lockdown_refuses_config_writes():
    facts = merge_facts({"pcie": {"value": {"max_read_request": 512}}})
    facts["kernel"]["lockdown"] = ok("integrity")
    fix = judged(facts, "pcie_maxreadreq", include=["pcie_maxreadreq"])[f"pcie_maxreadreq {ODD}"]["fix"]
    assert fix["not_planned_because"] == "kernel lockdown (integrity) refuses writes to PCI config space"


def test_a_container_that_uses_the_gpu_is_named_in_the_risk():
    fix = judged(merge_facts({"pcie": {"value": {"max_read_request": 512}}}))[f"pcie_maxreadreq {ODD}"]["fix"]
    assert "Containers with this GPU: 101." in fix["risk"]


def test_thp_always_is_as_good_as_madvise():
    for word, verdict in (("always", "pass"), ("madvise", "pass"), ("never", "fail")):
        facts = merge(neutral.epyc(), {"memory": {"thp": {"enabled": ok(word)}}})
        assert verdicts(facts, "thp_enabled") == {"thp_enabled": verdict}
    fix = judged(facts, "thp_enabled", include=["thp_enabled"])["thp_enabled"]["fix"]
    assert fix["change"] == {"address": "sysfs:/sys/kernel/mm/transparent_hugepage/enabled", "value": "madvise"}


def test_a_policy_without_boost_is_found_behind_a_global_switch_that_is_on():
    facts = neutral.epyc()
    facts["cpu"]["frequency"]["policies"][2]["boost"] = ok(0)
    finding = judged(facts)["cpu_boost policy2"]
    assert finding["fix"]["change"] == {"address": "sysfs:/sys/devices/system/cpu/cpufreq/policy2/boost", "value": "1"}


def test_turbo_is_enabled_by_a_zero():
    facts = merge(neutral.xeon(), {"cpu": {"frequency": {"no_turbo": ok(1)}}})
    fix = judged(facts)["cpu_boost no_turbo"]["fix"]
    assert fix["change"] == {"address": "sysfs:/sys/devices/system/cpu/intel_pstate/no_turbo", "value": "0"}


def test_governors_of_all_policies_are_judged():
    facts = neutral.epyc()
    facts["cpu"]["frequency"]["policies"] = [
        neutral.policy(number, "acpi-cpufreq", "ondemand" if number == 77 else "performance",
                       ["performance", "ondemand"]) for number in range(128)]
    found = verdicts(facts, "cpu_governor")
    assert (len(found), [name for name, verdict in found.items() if verdict == "fail"]) == (128, [
        "cpu_governor policy77"])


def test_passive_intel_pstate_is_judged_by_its_governor():
    facts = merge(neutral.xeon(), {"cpu": {"frequency": {"policies": [
        {"driver": ok("intel_cpufreq"), "governor": ok("schedutil"), "governors": ok(["performance", "schedutil"])}]}}})
    assert verdicts(facts, "cpu_governor", "cpu_epp") == {
        "cpu_governor policy0": "fail", "cpu_epp": "not_applicable"}


# -- the NVIDIA driver ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("generation, flavour, driver, verdict, priority", [
    ("blackwell", "open", "nvidia", "pass", "P1"), ("blackwell", "proprietary", None, "fail", "P0"),
    ("blackwell", "proprietary", "nvidia", "fail", "P1"), ("ada", "proprietary", "nvidia", "pass", "P1"),
    ("pascal", "open", None, "fail", "P0"), (None, "open", "nvidia", "pass", "P1"),
])
def test_flavour_and_generation(generation, flavour, driver, verdict, priority):
    facts = merge(neutral.epyc(), {"gpus": [{"generation": generation, "driver": driver}],
                                   "nvidia": {"flavour": flavour}})
    finding = judged(facts)["nvidia_flavour 0000:03:00.0"]
    assert (finding["verdict"], finding["priority"]) == (verdict, priority)


@pytest.mark.parametrize("driver, priority", [(None, "P0"), ("nouveau", "P1")])
def test_gpus_without_any_driver_are_urgent(driver, priority):
    facts = merge(neutral.epyc(), {"gpus": [{"driver": driver}], "nvidia": {"module": {"state": "absent"}}})
    finding = judged(facts)["nvidia_module"]
    assert (finding["verdict"], finding["priority"]) == ("fail", priority)


def test_gpus_that_all_belong_to_guests_need_no_module():
    facts = merge(neutral.epyc(), {"gpus": [{"driver": "vfio-pci", "state": "passed_through"}],
                                   "nvidia": {"module": {"state": "absent"}}})
    finding = judged(facts)["nvidia_module"]
    assert (finding["verdict"], finding["reason"]) == ("not_applicable", "every NVIDIA GPU is assigned to a guest")


@pytest.mark.parametrize("running, priority", [(True, "P0"), (False, "P1"), (None, "P1")])
def test_missing_nodes_are_urgent_for_running_containers(running, priority):
    facts = neutral.epyc()
    facts["guests"]["containers"] = ok([neutral.lxc("102", ["/dev/nvidia0", "/dev/nvidia9"], running)])
    finding = judged(facts)["nvidia_device_nodes"]
    assert (finding["verdict"], finding["priority"]) == ("fail", priority)
    assert finding["reason"] == "missing: /dev/nvidia9 for 102"


def test_unreadable_guests_leave_the_nodes_unknown():
    facts = merge(neutral.epyc(), {"guests": {"containers": lacking("denied")}})
    assert verdicts(facts, "nvidia_device_nodes") == {"nvidia_device_nodes": "unknown"}


def test_peermem_that_cannot_load_is_not_planned():
    facts = merge(neutral.epyc(), {
        "rdma": {"devices": [{"name": "mlx5_0", "bdf": None, "node_type": None, "vendor": None,
                              "ports": [], "netdevs": [], "virtual_function": False, "pcie": ABSENT, "port": ABSENT}]},
        "nvidia": {"flavour": "proprietary", "peermem": {"symbol": ok(False)}}})
    finding = judged(facts)["nvidia_peermem"]
    assert (finding["verdict"], finding["fix"]["planned"]) == ("fail", False)
    assert "ib_register_peer_memory_client" in finding["fix"]["not_planned_because"]


# -- the mission's readings -----------------------------------------------------------------------------------

def test_the_readings_of_a_host_before_it_is_tuned():
    """Two EPYC 9335 under kernel 6.8, acpi-cpufreq, no swap, 503 GiB, MaxReadReq 512: eleven answers."""
    facts = neutral.epyc()
    facts["kernel"]["release"] = ok("6.8.12-9-pve")
    facts["nvidia"]["kernels"][0]["release"] = "6.8.12-9-pve"
    facts["memory"]["total_kib"] = ok(503 << 20)
    facts["cpu"]["frequency"].update({"drivers": ["acpi-cpufreq"], "amd_pstate": ABSENT})
    facts["cpu"]["frequency"]["policies"] = [
        neutral.policy(0, "acpi-cpufreq", "performance", ["performance", "ondemand"])]
    for key, value in (("kernel.numa_balancing", "1"), ("kernel.nmi_watchdog", "1"),
                       ("kernel.sched_autogroup_enabled", "1"), ("vm.swappiness", "60"), ("vm.dirty_ratio", "20"),
                       ("vm.dirty_background_ratio", "10"), ("net.core.rmem_max", "212992"),
                       ("net.core.wmem_max", "212992")):
        facts["sysctl"][key] = ok(value)
    for gpu in facts["gpus"]:
        gpu["pcie"]["value"]["max_read_request"] = 512
    found = judged(facts)
    assert those(facts, "fail") == {
        "numa_balancing": "P1", "nmi_watchdog": "info", "dirty_ratio": "info", "dirty_background_ratio": "info",
        "rmem_max": "info", "wmem_max": "info", "cpu_scaling_driver": "P2", "sched_autogroup_enabled": "info",
        **{f"pcie_maxreadreq {gpu['bdf']}": "info" for gpu in facts["gpus"]}}
    assert found["swappiness"]["verdict"] == "not_applicable"
    assert found["nvidia_peermem"]["verdict"] == "not_applicable"
    assert found["nvidia_peermem"]["reason"].startswith("no RDMA device under /sys/class/infiniband")
    assert found["perf_event_paranoid"]["verdict"] == "pass"
    assert found["gpu_consistency 0000:03:00.0"]["verdict"] == "pass"


def test_findings_are_plain_json():
    assert json.loads(json.dumps(judged(neutral.epyc()))) == judged(neutral.epyc())
