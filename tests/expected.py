# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the catalogue must say of planted hosts, every finding of it, written down from what the hosts are."""
from __future__ import annotations

from hosts.reference import MINORS
from hosts.sick import DEGRADED, OLD_SLOT, UNBOUND
from hosts.story_before import GPUS

STORY = tuple(GPUS)
CONTAINERS = ("lxc:101", "lxc:102")
POLICIES = tuple(f"policy{cpu}" for cpu in range(128))


def of_nvidia_smi(gpus: tuple[str, ...]) -> dict[str, dict[tuple[str, ...], str]]:
    """What nvidia-smi says of RTX PRO 6000 with nothing wrong."""
    return {"nvidia_persistence": {gpus: "pass P1: Enabled"}, "nvidia_power_limit": {gpus: "pass P2: 600.0"},
            "nvidia_slowdown": {gpus: "pass P1: []"}, "nvidia_memory_errors": {gpus: "pass P1: []"},
            "nvidia_pending_modes": {gpus: "pass P1: []"}, "nvidia_compute_mode": {gpus: "pass P2: Default"},
            "nvidia_recovery": {gpus: "pass P0: None"}}


# As the operator found it: two sockets, 503 GiB, no swap, idle GPUs, containers that are pinned.
STORY_BEFORE = {
    "target_kind": "pass info: bare_metal",
    "kernel_release": "pass info: 6.8.12-9-pve",
    "next_kernel": "pass info: 6.8.12-9-pve",
    "next_kernel_nvidia": "pass P1: true",
    "cmdline_configured": "pass info: []",
    "cmdline_ignored": "pass P2: []",
    "numa_balancing": "fail P1: 1 -> 0, planned",
    "zone_reclaim_mode": "pass P1: 0",
    "nmi_watchdog": "fail P2: 1 -> 0, planned",
    "sched_autogroup_enabled": "fail info: 1 -> 0, planned",
    "perf_event_paranoid": "pass info: 4",
    "swappiness": "not_applicable P2",
    "dirty_ratio": "fail P2: 20 -> at_most 10, planned",
    "dirty_background_ratio": "fail P2: 10 -> at_most 5, planned",
    "rmem_max": "fail P2: 212992 -> at_least 16777216, planned",
    "wmem_max": "fail P2: 212992 -> at_least 16777216, planned",
    "thp_enabled": "pass P1: madvise",
    "thp_defrag": "pass P2: madvise",
    "cpu_governor": {POLICIES: "pass P1: performance"},
    "cpu_epp": "not_applicable P1",
    "cpu_boost": {("boost",): "pass P1: true"},
    "cpu_scaling_driver": "fail P2: acpi-cpufreq -> not_equals acpi-cpufreq",
    "cpu_frequency_limits": {("policies",): "pass P1: 3000000"},
    "cpu_max_perf_pct": "not_applicable P1",
    "cpu_consistency": "pass P2: []",
    "cpu_microcode": 'pass P1: ["0xb002147"]',
    "cpu_smt": "pass info: on",
    "uncore_frequency": "not_applicable P2",
    "cpu_mitigations": "pass info: []",
    "cpu_isolation": "pass info: ",
    "cstate_latency": {("state2",): "fail info: false -> true"},
    "clocksource": "pass P1: tsc",
    "cpus_offline": "pass P2: []",
    "gpu_driver": {STORY: "pass P1: nvidia"},
    "gpu_consistency": {STORY: "pass P2: []"},
    "gpu_numa_node": {STORY[:4]: "pass P1: 0", STORY[4:]: "pass P1: 1"},
    "gpu_one_owner": {STORY: "not_applicable P1"},
    "gpu_runtime_pm": {STORY: "pass P2: active"},
    "iommu_many_cpus": "not_applicable P1",
    "pcie_bus_tuning": "pass P2: []",
    "pcie_extended_tags": {STORY: "pass P2: true"},
    "pcie_bar_assigned": {STORY: "pass P1: 137438953472"},
    "iommu_acs": "fail P0: translated and redirected -> direct",
    "pcie_maxreadreq": {STORY: "fail P2: 512 -> 4096, planned"},
    "pcie_maxpayload": {STORY: "pass P1: 256"},
    "pcie_link_width": {STORY: "pass P0: 16"},
    "pcie_link_speed": {STORY: "pass P1: 2.5"},
    "pcie_bottleneck": {STORY: "pass P2: 63.0"},
    "pcie_aer": {STORY: "pass P1: 0"},
    "pcie_bar_size": {STORY: "pass P1: 137438953472"},
    "nvidia_module": "pass P1: live",
    "nvidia_flavour": {STORY: "pass P1: open"},
    **of_nvidia_smi(STORY),
    "nvidia_library": "pass P0: one version",
    "nvidia_container_library": {("lxc:101", "lxc:102"): 'pass P0: ["570.133.20"]'},
    "nvidia_device_nodes": "pass P1: []",
    "nvidia_peermem": "not_applicable P1",
    "lxc_gpu_access": {CONTAINERS: "pass P1: []"},
    "lxc_stale_rules": {CONTAINERS: "pass P2: []"},
    "lxc_overbroad_rules": {CONTAINERS: "pass P2: []"},
    "lxc_ignored_settings": {CONTAINERS: "pass P2: []"},
    "lxc_library_mounts": "not_applicable P1",
    "lxc_memlock": "not_applicable P1",
    "lxc_shm_size": "not_applicable P1",
    "lxc_survives_reboot": {("lxc:101",): 'fail info: ["c 509:* rwm is nvidia-uvm in this boot only"] -> empty true',
                            ("lxc:102",): "pass info: []"},
    "guest_cpus": {CONTAINERS: "pass P2: []"},
    "vm_hostpci": "not_applicable P1",
}

# The reboot took back all that was set at run time, and brought amd-pstate in active mode.
STORY_AFTER = {
    **STORY_BEFORE,
    "kernel_release": "pass info: 6.14.11-4-pve",
    "next_kernel": "pass info: 6.14.11-4-pve",
    "cpu_governor": "not_applicable P1",
    "cpu_epp": {POLICIES: "pass P1: performance"},
    "cpu_scaling_driver": "pass P2: amd-pstate-epp",
    "cpu_frequency_limits": {("policies",): "pass P1: 4400000"},
    "lxc_gpu_access": {("lxc:101",): 'fail P0: ["/dev/nvidia-uvm is 511:0, which no rule allows"] -> empty true',
                       ("lxc:102",): "pass P1: []"},
    "lxc_stale_rules": {("lxc:101",): 'fail P2: ["c 509:* rwm: no driver has the major 509 now"] -> empty true',
                        ("lxc:102",): "pass P2: []"},
    "lxc_survives_reboot": {CONTAINERS: "pass info: []"},
}

BUSES = tuple(MINORS)
ONLINE = tuple(f"policy{cpu}" for cpu in range(256) if cpu != 239)

# A public report's host: IOMMU off, switches that do not redirect, one CPU offline, a swap file, no guests.
REFERENCE = {
    "target_kind": "pass info: bare_metal",
    "kernel_release": "pass info: 6.17.0-20-generic",
    "next_kernel": "pass info: 6.17.0-20-generic",
    "next_kernel_nvidia": "pass P1: true",
    "cmdline_configured": "pass info: []",
    "cmdline_ignored": "pass P2: []",
    "numa_balancing": "fail P1: 1 -> 0, planned",
    "zone_reclaim_mode": "pass P1: 0",
    "nmi_watchdog": "fail P2: 1 -> 0, planned",
    "sched_autogroup_enabled": "fail info: 1 -> 0, planned",
    "perf_event_paranoid": "pass info: 4",
    "swappiness": "fail P2: 60 -> at_most 10, planned",
    "dirty_ratio": "fail P2: 20 -> at_most 10, planned",
    "dirty_background_ratio": "fail P2: 10 -> at_most 5, planned",
    "rmem_max": "fail P2: 212992 -> at_least 16777216, planned",
    "wmem_max": "fail P2: 212992 -> at_least 16777216, planned",
    "thp_enabled": "pass P1: madvise",
    "thp_defrag": "pass P2: madvise",
    "cpu_governor": "not_applicable P1",
    "cpu_epp": {ONLINE: "pass P1: performance"},
    "cpu_boost": {("boost",): "pass P1: true"},
    "cpu_scaling_driver": "pass P2: amd-pstate-epp",
    "cpu_frequency_limits": {("policies",): "pass P1: 5008929"},
    "cpu_max_perf_pct": "not_applicable P1",
    "cpu_consistency": "pass P2: []",
    "cpu_microcode": 'pass P1: ["0xb002147"]',
    "cpu_smt": "pass info: on",
    "uncore_frequency": "not_applicable P2",
    "cpu_mitigations": 'fail info: ["spec_store_bypass: Vulnerable", "spectre_v2: Vulnerable; IBPB: disabled; STIBP: '
                       'disabled"] -> empty true',
    "cpu_isolation": "pass info: ",
    "cstate_latency": {("state2",): "fail info: false -> true"},
    "clocksource": "pass P1: tsc",
    "cpus_offline": "fail P2: [239] -> empty true",
    "gpu_driver": {BUSES: "pass P1: nvidia"},
    "gpu_consistency": {BUSES: "pass P2: []"},
    "gpu_numa_node": {BUSES[:4]: "pass P1: 0", BUSES[4:]: "pass P1: 1"},
    "gpu_one_owner": {BUSES: "not_applicable P1"},
    "gpu_runtime_pm": {BUSES: "pass P2: active"},
    "iommu_many_cpus": "fail P1: false -> true",
    "pcie_bus_tuning": "pass P2: []",
    "pcie_extended_tags": {BUSES: "pass P2: true"},
    "pcie_bar_assigned": {BUSES: "pass P1: 137438953472"},
    "iommu_acs": "pass P2: direct",
    "pcie_maxreadreq": {BUSES: "fail P2: 512 -> 4096, planned"},
    "pcie_maxpayload": {BUSES: "pass P1: 256"},
    "pcie_link_width": {BUSES: "pass P0: 16"},
    "pcie_link_speed": {BUSES: "pass P1: 2.5"},
    "pcie_bottleneck": {BUSES: "pass P2: 63.0"},
    "pcie_aer": {BUSES: "pass P1: 0"},
    "pcie_bar_size": {BUSES: "pass P1: 137438953472"},
    "nvidia_module": "pass P1: live",
    "nvidia_flavour": {BUSES: "pass P1: open"},
    **of_nvidia_smi(BUSES),
    "nvidia_library": "pass P0: one version",
    "nvidia_container_library": "not_applicable P0",
    "nvidia_device_nodes": "not_applicable P1",
    "nvidia_peermem": "not_applicable P1",
    **dict.fromkeys(("lxc_gpu_access", "lxc_library_mounts", "lxc_memlock", "lxc_shm_size", "vm_hostpci"),
                    "not_applicable P1"),
    **dict.fromkeys(("lxc_stale_rules", "lxc_overbroad_rules", "lxc_ignored_settings", "guest_cpus"),
                    "not_applicable P2"),
    "lxc_survives_reboot": "not_applicable info",
}

REST = tuple(gpu for gpu in GPUS if gpu not in (DEGRADED, UNBOUND, OLD_SLOT))
OTHERS = (UNBOUND, OLD_SLOT, *REST)
ON_NODE_1 = tuple(gpu for gpu in STORY[4:] if gpu != DEGRADED)

SICK = {
    **STORY_BEFORE,
    "next_kernel": "fail info: 6.17.13-2-pve -> 6.8.12-9-pve",
    "next_kernel_nvidia": "fail P1: false -> true",
    "cmdline_configured": 'fail P2: ["amd_pstate=active", "pcie_aspm=off"] -> empty true',
    "cmdline_ignored": 'fail P2: ["amd_iommu=on"] -> empty true',
    "zone_reclaim_mode": "fail P1: 1 -> 0, planned",
    "perf_event_paranoid": "fail info: -1 -> at_least 2",
    "swappiness": "fail P2: 60 -> at_most 10, planned",
    "thp_enabled": 'fail P1: never -> one_of ["madvise", "always"], planned',
    "thp_defrag": 'fail P2: always -> one_of ["madvise", "defer+madvise", "defer", "never"], planned',
    "cpu_governor": {POLICIES[:3]: "fail P1: schedutil -> performance, planned"},
    "cpu_boost": {("boost",): "fail P1: false -> true, planned"},
    "cpu_frequency_limits": {("policy2",): "fail P1: 2000000 -> at_least 3000000", ("policies",): "pass P1: 3000000"},
    "cpu_consistency": 'fail P2: ["lowest clock (kHz) is 1800000 on CPUs 2, 1500000 on 2 others"] -> empty true',
    "cpu_microcode": 'fail P1: ["0xb002110", "0xb002147"] -> all_equal true',
    "cpu_mitigations": 'fail info: ["spec_store_bypass: Vulnerable", "spectre_v2: Vulnerable; IBPB: disabled; STIBP: '
                       'disabled"] -> empty true',
    "cpu_isolation": "fail info: 1-2 -> ",
    "clocksource": 'fail P1: hpet -> one_of ["tsc", "arch_sys_counter"]',
    "cpus_offline": "fail P2: [3] -> empty true",
    "gpu_driver": {(UNBOUND,): 'fail P1: none -> one_of ["nvidia"]', (DEGRADED, OLD_SLOT, *REST): "pass P1: nvidia"},
    "gpu_consistency": {
        (DEGRADED,): 'fail P2: ["MaxReadReq is 256, of the others 512", "MaxPayload is 512, of the others 256", '
                     '"extended tags is off, of the others on", '
                     '"link width is 8, of the others 16", "largest BAR is 268435456, of the others 137438953472"] '
                     "-> empty true",
        (OLD_SLOT,): 'fail P2: ["link speed its slot allows is 16.0, of the others 32.0"] -> empty true',
        (UNBOUND, *REST): "pass P2: []"},
    "gpu_runtime_pm": {(UNBOUND,): "not_applicable P2", (DEGRADED, OLD_SLOT, *REST): "pass P2: active"},
    "pcie_bus_tuning": 'fail P2: ["pcie_bus_perf"] -> empty true',
    "pcie_extended_tags": {(DEGRADED,): "fail P2: false -> true", OTHERS: "pass P2: true"},
    "pcie_bar_assigned": {(UNBOUND,): "fail P0: null -> not_equals null", (DEGRADED,): "pass P1: 268435456",
                          (OLD_SLOT, *REST): "pass P1: 137438953472"},
    "gpu_numa_node": {(DEGRADED,): "fail P1: -1 -> at_least 0", STORY[:4]: "pass P1: 0", ON_NODE_1: "pass P1: 1"},
    "pcie_maxreadreq": {(DEGRADED,): "fail P2: 256 -> 4096, planned", OTHERS: "fail P2: 512 -> 4096, planned"},
    "pcie_maxpayload": {(DEGRADED,): "fail P1: 512 -> at_most 256", OTHERS: "pass P1: 256"},
    "pcie_link_width": {(DEGRADED,): "fail P0: 8 -> at_least 16", OTHERS: "pass P0: 16"},
    "pcie_link_speed": {(DEGRADED,): "fail P1: 5.0 -> at_least 32.0", OTHERS: "pass P1: 2.5"},
    "pcie_bottleneck": {(OLD_SLOT,): "fail P2: 31.5 -> at_least 63.0", (DEGRADED, UNBOUND, *REST): "pass P2: 63.0"},
    "pcie_aer": {(DEGRADED,): "fail P0: 1 -> 0", OTHERS: "pass P1: 0"},
    "pcie_bar_size": {(DEGRADED,): "fail P1: 268435456 -> at_least 102641958912", (UNBOUND,): "not_applicable P1",
                      (OLD_SLOT, *REST): "pass P1: 137438953472"},
    "nvidia_flavour": {(UNBOUND,): 'fail P0: proprietary -> one_of ["open"]',
                       (DEGRADED, OLD_SLOT, *REST): 'fail P1: proprietary -> one_of ["open"]'},
    "nvidia_persistence": {(OLD_SLOT,): "fail P1: Disabled -> Enabled", (DEGRADED, *REST): "pass P1: Enabled",
                           (UNBOUND,): "not_applicable P1"},
    "nvidia_power_limit": {(DEGRADED,): "fail P2: 400.0 -> at_least 600.0", (OLD_SLOT, *REST): "pass P2: 600.0",
                           (UNBOUND,): "not_applicable P2"},
    "nvidia_slowdown": {(DEGRADED,): 'fail P0: ["hw_thermal_slowdown"] -> empty true', (OLD_SLOT, *REST): "pass P1: []",
                        (UNBOUND,): "not_applicable P1"},
    "nvidia_memory_errors": {
        (OLD_SLOT,): 'fail P0: ["2 uncorrectable ECC errors since the driver was loaded", '
                     '"a row of memory waits for a reset to be remapped"] -> empty true',
        (DEGRADED, *REST): "pass P1: []", (UNBOUND,): "not_applicable P1"},
    "nvidia_pending_modes": {
        (OLD_SLOT,): 'fail P1: ["MIG is Disabled and will be Enabled after a reset"] -> empty true',
        (DEGRADED, *REST): "pass P1: []", (UNBOUND,): "not_applicable P1"},
    "nvidia_compute_mode": {(DEGRADED,): "fail P2: Exclusive_Process -> Default", (OLD_SLOT, *REST): "pass P2: Default",
                            (UNBOUND,): "not_applicable P2"},
    "nvidia_recovery": {(OLD_SLOT,): "fail P0: Reset -> None", (DEGRADED, *REST): "pass P0: None",
                        (UNBOUND,): "not_applicable P0"},
    "nvidia_device_nodes": 'fail P0: ["/dev/nvidia9"] -> empty true',
    "nvidia_peermem": "fail P1: false -> true, planned",
}
