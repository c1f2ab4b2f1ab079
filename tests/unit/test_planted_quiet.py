# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No false alarm: what must not fail on hosts where it is as it should be, or no matter of this host's."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host

from hosts.others import container, container_with_gpus, intel_server, virtual_machine, workstation
from hosts.reference import healthy
from verdicts import CHECKS, failing, judged

# Nothing here needs a GPU, a swap device, several NUMA nodes or a large memory to be wrong.
_OF_EVERY_MACHINE = ("kernel_release", "next_kernel", "next_kernel_nvidia", "cmdline_configured", "cmdline_ignored",
                     "perf_event_paranoid", "thp_enabled", "thp_defrag", "zone_reclaim_mode",
                     "cpu_governor", "cpu_epp", "cpu_boost", "cpu_scaling_driver", "clocksource", "cpus_offline",
                     "cpu_frequency_limits", "cpu_max_perf_pct", "cpu_consistency", "cpu_microcode", "cpu_smt",
                     "uncore_frequency", "cpu_mitigations", "cpu_isolation", "memory_uncorrectable",
                     "memory_correctable", "hardware_errors", "firmware_settings", "numa_node_memory",
                     "numa_memory_balance", "numa_nodes_per_socket", "iommu_many_cpus", "oom_kills", "kernel_lockups",
                     "nvme_errors")
_OF_SETTINGS = ("thp_size", "thp_shmem", "ksm", "zfs_arc_max", "hugepages_unused", "overcommit_memory",
                "min_free_kbytes", "shm_size", "memlock", "kernel_preemption", "sysctl_at_boot", "sysctl_conf",
                "other_managers", "somaxconn", "netdev_max_backlog", "nic_duplex", "rdma_link_width",
                "rdma_maxreadreq", "rdma_port_state", "rdma_port_rate")
_OF_GPUS = ("gpu_driver", "gpu_consistency", "gpu_numa_node", "gpu_interrupts", "iommu_acs", "gpu_nic_path",
            "pcie_maxpayload", "pcie_link_width", "pcie_link_speed", "pcie_bottleneck", "pcie_aer", "pcie_bar_size",
            "nvidia_module", "nvidia_flavour", "nvidia_device_nodes", "nvidia_peermem", "gpu_one_owner",
            "gpu_runtime_pm", "pcie_aspm", "pcie_bus_tuning", "pcie_extended_tags", "pcie_bar_assigned",
            "pcie_aer_corrected", "iommu_faults", "amdgpu_errors")
_OF_NVIDIA = ("nvidia_persistence", "nvidia_power_limit", "nvidia_slowdown", "nvidia_memory_errors",
              "nvidia_pending_modes", "nvidia_compute_mode", "nvidia_recovery", "nvidia_library",
              "nvidia_container_library", "nvidia_gpu_count", "nvidia_xid", "nvidia_xid_program",
              "nvidia_options", "nvidia_nouveau", "nvidia_relaxed_ordering", "nvidia_registry_keys", "nvidia_fabric",
              "nvidia_fabric_services", "nvidia_nvlink", "nvswitch_errors", "nvidia_reset_required",
              "nvidia_module_messages", "nvidia_branch", "earlier_boots")
# Nobody hands a GPU of this host to a guest of Proxmox VE.
_OF_GUESTS = ("lxc_gpu_access", "lxc_stale_rules", "lxc_overbroad_rules", "lxc_ignored_settings", "lxc_library_mounts",
              "lxc_memlock", "lxc_shm_size", "lxc_survives_reboot", "guest_cpus", "vm_hostpci", "container_nodes",
              "guest_memory", "guest_shared_cores", "guest_interrupts", "guest_pinned_memory", "vm_virtual_nodes",
              "vm_numa_settings", "vm_cpu_type", "vm_pcie", "vm_balloon", "vm_hugepages",
              "lxc_unreadable_rules", "guest_pending_devices",
              "iommu_for_guests", "vm_survives_reboot", "ha_guests", "vm_gpu_conflict")
# Settings that a distribution leaves alone and that only matter to who serves from GPUs.
_OF_SERVING = ("numa_balancing", "nmi_watchdog", "sched_autogroup_enabled", "swappiness", "rmem_max", "wmem_max",
               "max_map_count", "pcie_maxreadreq")


def installed_virtual_machine(tree):
    return virtual_machine(tree, swap=True, counters=True)


@pytest.mark.parametrize("plant, must_not_fail, fails", [
    # One GeForce in a desktop that its owner tuned in part: one node, 63 GiB, a link at rest, no peers.
    (workstation,
     (*_OF_EVERY_MACHINE, *_OF_SETTINGS, *_OF_GPUS, *_OF_NVIDIA, *_OF_GUESTS, "target_kind", "numa_balancing",
      "swappiness",
      "dirty_ratio", "dirty_background_ratio", "cstate_latency"),
     {"nmi_watchdog": "info", "sched_autogroup_enabled": "info", "rmem_max": "info", "wmem_max": "info",
      "max_map_count": "info", "pcie_maxreadreq": "info"}),
    # Two sockets without a GPU: in active mode the governor is called powersave and is none.
    (intel_server,
     (*_OF_EVERY_MACHINE, *_OF_SETTINGS, *_OF_GPUS, *_OF_NVIDIA, *_OF_GUESTS, *_OF_SERVING, "target_kind"),
     {"dirty_ratio": "info", "dirty_background_ratio": "info", "cstate_latency": "info"}),
    (virtual_machine, sorted(CHECKS), {}),
    (installed_virtual_machine, sorted(CHECKS), {}),
    (container, sorted(CHECKS - {"target_kind"}), {"target_kind": "info"}),
    (container_with_gpus, sorted(CHECKS - {"target_kind"}), {"target_kind": "info"}),
    # Whether deep idle states hurt depends on the load: that is for information, also here.
    (healthy, sorted(CHECKS - {"cstate_latency"}), {"cstate_latency": "info"}),
])
def test_only_what_is_really_to_be_improved_fails(facts_of, plant, must_not_fail, fails):
    found = failing(judged(facts_of(plant)))
    assert [check for check in must_not_fail if check in found] == []
    assert found == fails
    assert set(must_not_fail).isdisjoint(fails) and set(must_not_fail) | set(fails) == CHECKS


@pytest.mark.parametrize("check, reason", [
    ("pcie_maxreadreq", "no GPU on this host"), ("gpu_driver", "no GPU on this host"),
    ("gpu_numa_node", "the target is a virtual machine (qemu)"), ("pcie_aer", "no GPU on this host"),
    ("nvidia_module", "no NVIDIA GPU on this host"), ("nvidia_flavour", "no NVIDIA GPU on this host"),
    ("sched_autogroup_enabled", "no GPU is used by this host"), ("rmem_max", "no GPU is used by this host"),
    ("nmi_watchdog", "no GPU is used by this host"), ("swappiness", "no GPU is used by this host"),
    ("numa_balancing", "no GPU is used by this host"),
    ("clocksource", "the target is a virtual machine (qemu), where the hypervisor provides the time"),
])
def test_a_machine_without_a_gpu_says_why_it_is_not_asked(facts_of, check, reason):
    finding = judged(facts_of(installed_virtual_machine))[check, None]
    assert (finding["verdict"], finding["reason"]) == ("not_applicable", reason)


def test_inside_a_container_every_verdict_is_left_to_the_host(facts_of):
    found = judged(facts_of(container_with_gpus))
    assert {check for (check, _subject), finding in found.items() if finding["verdict"] != "not_applicable"} == {
        "target_kind", "kernel_release"}
    assert found["pcie_aer", "0000:41:00.0"]["reason"] == (
        "the target is a container (lxc): audit its host")


def test_a_host_with_nothing_to_do_has_an_empty_plan(facts_of):
    assert [pair for pair, finding in judged(facts_of(healthy), "full").items() if finding["fix"]["planned"]] == []


def test_this_machine_raises_no_false_alarm():
    """Whoever runs the tests: a machine of continuous integration, or a developer's."""
    facts = collect(Host(), [])
    if facts["gpus"] or facts["identity"]["kind"] == "bare_metal":
        pytest.skip("this machine has settings of its own to improve: it is no small virtual machine")
    found = judged(facts)
    assert failing(found).keys() <= {"target_kind"}
    of_gpus = [finding for (check, _subject), finding in found.items() if check.startswith(("gpu", "pcie", "nvidia"))]
    assert {finding["verdict"] for finding in of_gpus} == {"not_applicable"}
    assert all(finding["reason"] for finding in of_gpus)
