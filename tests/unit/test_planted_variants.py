# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The story's host with one GPU that is different: exactly its findings change, the seven others stay as they are."""
from __future__ import annotations

import functools
import json

import pytest

from hosts import boot, cpu, kernel, numa, pci
from hosts.nvidia import Gpu, smi_xml
from hosts.others import intel_server
from hosts.story_before import (
    DRIVER,
    GPUS,
    all_ones_on,
    asleep,
    given_to_vfio,
    in_use,
    narrow,
    other_read_request,
    root_port,
    story_before,
    with_virtual_function,
)
from verdicts import changes, expand, judged, skipped

ODD = "0000:41:00.0"
OTHERS = tuple(gpu for gpu in GPUS if gpu != ODD)
FUNCTION = "0000:41:00.4"
CORES = 1           # nothing here is about processors

# What is read from the GPU's own registers, with the priority of each check.
REGISTERS = {"pcie_maxreadreq": "info", "pcie_maxpayload": "P1", "pcie_link_width": "P1", "pcie_link_speed": "P1",
             "pcie_bottleneck": "info", "gpu_consistency": "P2", "pcie_bar_size": "P1", "pcie_bar_assigned": "P1",
             "pcie_extended_tags": "P2"}
# What is said of each container.
OF_GUESTS = {"lxc_gpu_access": "P1", "lxc_stale_rules": "P2", "lxc_overbroad_rules": "P2", "lxc_ignored_settings": "P2",
             "lxc_survives_reboot": "info", "guest_cpus": "P2", "guest_memory": "P2", "guest_shared_cores": "P2",
             "guest_interrupts": "info", "lxc_unreadable_rules": "P2"}
# What is said of each VM's place, and of all of them.
OF_VMS = {**dict.fromkeys(("vm_virtual_nodes", "vm_numa_settings", "vm_cpu_type", "vm_pcie", "vm_balloon"), "P2"),
          "guest_pinned_memory": "P1", "vm_hugepages": "info"}
# What nvidia-smi reports of it. It is not run at all while one GPU is gone or asleep.
SMI = {"nvidia_persistence": "P1", "nvidia_power_limit": "P2", "nvidia_slowdown": "P1", "nvidia_memory_errors": "P1",
       "nvidia_pending_modes": "P1", "nvidia_compute_mode": "P2", "nvidia_recovery": "P0"}
UNANSWERED = {check: f"unknown {priority}" for check, priority in SMI.items()}
GIVEN_AWAY = {**{check: f"not_applicable {priority}" for check, priority in {**REGISTERS, **SMI}.items()},
              "gpu_driver": "not_applicable P1", "gpu_runtime_pm": "not_applicable P2",
              "gpu_interrupts": "not_applicable P2", "nvidia_flavour": "not_applicable P1"}
TO_VFIO = "the GPU is passed through to a guest (vfio-pci)"
SUSPENDED = "the GPU is suspended, and reading its registers would wake it"


def plain(tree):
    story_before(tree, cores=CORES)


@functools.cache
def variant(change):
    """Plants the story and then that change of one GPU."""
    def plant(tree):
        plain(tree)
        change(tree, ODD)
    return plant


@functools.cache
def with_vm(config, mapping=None):
    """Plants the story with VM 200, which does not run."""
    return lambda tree: story_before(tree, cores=CORES, vms={"200": f"name: desk\nmemory: 8192\n{config}\n"},
                                     mapping=mapping)


@pytest.fixture(scope="module")
def story(facts_of):
    return judged(facts_of(plain))


@pytest.mark.parametrize("change, lines, of_others", [
    (narrow, {"pcie_link_width": "fail P1: 8 -> at_least 16"}, {}),
    (all_ones_on, {**{check: f"unknown {priority}" for check, priority in REGISTERS.items()}, **UNANSWERED,
                   "pcie_bar_assigned": "not_applicable P1", "gpu_driver": 'fail P0: gone -> one_of ["nvidia"]'},
     {**UNANSWERED, "nvidia_gpu_count": "unknown P0"}),
    (other_read_request, {"pcie_maxreadreq": "fail info: 256 -> 4096, planned",
                          "gpu_consistency": 'fail P2: ["MaxReadReq is 256, of the others 512"] -> empty true'}, {}),
    (given_to_vfio, GIVEN_AWAY, {}),
    (asleep, {**{check: f"not_applicable {priority}" for check, priority in {**REGISTERS, **SMI}.items()},
              "gpu_runtime_pm": 'fail P2: suspended -> none_of ["suspended", "suspending"]'},
     {**UNANSWERED, "nvidia_gpu_count": "unknown P0"}),
    (in_use, {"pcie_maxreadreq": "fail info: 512 -> 4096"}, {}),
], ids=lambda value: getattr(value, "__name__", ""))
def test_only_the_odd_gpu_changes(facts_of, story, change, lines, of_others):
    expected = {**expand({check: text if check == "nvidia_gpu_count" else {OTHERS: text}
                          for check, text in of_others.items()}),
                **expand({check: {(ODD,): text} for check, text in lines.items()})}
    assert changes(story, judged(facts_of(variant(change)))) == expected


def lost_to_nvidia_smi(tree, address):
    """The driver has probed it, and it does not start any more."""
    tree.program("nvidia-smi.xml", smi_xml([Gpu(*gpu) for gpu in GPUS.items() if gpu[0] != address], DRIVER))


def test_a_gpu_that_nvidia_smi_lacks_is_named_and_not_judged_by_it(facts_of, story):
    found = judged(facts_of(variant(lost_to_nvidia_smi)))
    assert changes(story, found) == {
        ("nvidia_gpu_count", None):
            f'fail P0: ["{ODD} is bound to the driver but missing in nvidia-smi"] -> empty true',
        ("pcie_maxreadreq", ODD): "fail info: 512 -> 4096",
        **{(check, ODD): text for check, text in UNANSWERED.items()}}
    assert found["nvidia_recovery", ODD]["reason"] == (
        "the answer of nvidia-smi -q could not be read: nvidia-smi does not list this GPU")


MAPPING = "gpu4\n\tmap id=10de:2bb5,iommugroup=64,node=pve1,path=0000:41:00.0,subsystem-id=10de:204e\n"


ANYWHERE = 'fail P2: ["it may run on all CPUs of the host"] -> empty true'


def placed(pcie, takes=True, device=True):
    """What is said of where VM 200 is: bound to nothing, 512 MiB, the CPU type kvm64 on a host with AVX-512.

    `pcie`: the problem with its machine; `takes`: it has a GPU, at node 1, else perhaps another `device`."""
    found = {"vm_numa_settings": "pass P2: []", **({"vm_balloon": "pass P2: []"} if device else {})}
    if takes:
        found |= {"vm_virtual_nodes": "pass P2: []", "vm_pcie": f"fail {pcie} -> empty true" if pcie else "pass P2: []",
                  "vm_cpu_type": 'fail P2: ["avx", "avx2", "avx512f"] -> empty true'}
    return {**{pair: text for check, text in found.items() for pair, text in (
        ((check, None), None), ((check, "vm:200"), text))},
        **({("guest_pinned_memory", None): "pass P1: []"} if device else {}),
        **({("guest_cpus", "vm:200"): ANYWHERE} if takes else {})}


def vm_200(*problems, takes=True):
    """What is said of the VM's devices; there was none before."""
    line = f"fail P1: {json.dumps(problems)} -> empty true" if problems else "pass P1: []"
    return {("vm_hostpci", None): None, ("vm_hostpci", "vm:200"): line,
            ("vm_survives_reboot", None): None, ("vm_survives_reboot", "vm:200"): "pass info: []",
            ("iommu_for_guests", None): "pass P1: true",
            **({("vm_gpu_conflict", ODD): "pass info: 1"} if takes else {})}


NO_START = 'P1: ["hostpci0 has pcie=1, which needs q35, and the machine is i440fx"]'
PLAIN_PCI = 'P2: ["{} has no pcie=1: a device on the conventional PCI bus of i440fx"]'


@pytest.mark.parametrize("config, mapping, key, pcie", [
    ("hostpci0: 0000:41:00.0,pcie=1", None, "hostpci0", NO_START),
    ("hostpci0: 41:00.0", None, "hostpci0", PLAIN_PCI.format("hostpci0")),
    ("hostpci1: 41:00,x-vga=1", None, "hostpci1", PLAIN_PCI.format("hostpci1")),
    ("hostpci0: host=0000:41:00.0;0000:c1:00.0,rombar=0", None, "hostpci0", PLAIN_PCI.format("hostpci0")),
    ("hostpci0: mapping=gpu4,pcie=1", MAPPING, "hostpci0", NO_START),
    ("args: -device vfio-pci,host=0000:41:00.0", None, "args", None),
    ("\n[PENDING]\nhostpci0: 0000:41:00.0", None, "hostpci0 (pending)", None),
])
def test_a_gpu_that_a_stopped_vm_names_is_not_the_hosts(facts_of, story, config, mapping, key, pcie):
    facts = facts_of(with_vm(config, mapping))
    found = judged(facts)
    missing = [f"{key}: the host has no device 0000:c1:00.0"] if "c1:00.0" in config else []
    waiting = {("guest_pending_devices", None): None, ("guest_pending_devices", "vm:200"):
               'fail info: ["hostpci0: 0000:41:00.0"] -> empty true'} if "PENDING" in config else {}
    place = placed(pcie, takes="PENDING" not in config)
    of_gpu = {**GIVEN_AWAY, "gpu_one_owner": 'fail P1: ["102"] -> empty true'}
    assert changes(story, found) == {**vm_200(*missing), **waiting, **place,
                                     **{(check, ODD): text for check, text in of_gpu.items()}}
    assert found["pcie_maxreadreq", ODD]["reason"] == f"the GPU belongs to VM 200 ({key})"
    assert skipped(facts, found, "pcie_maxreadreq") == {ODD: f"not applicable: the GPU belongs to VM 200 ({key})"}


@pytest.mark.parametrize("config, told", [
    ("#hostpci0%3A 0000%3A41%3A00.0", {}),
    ("\n[snap]\nhostpci0: 0000:41:00.0", {("guest_pending_devices", None): None,
                                          ("guest_pending_devices", "vm:200"): "pass info: []"})])
def test_what_no_vm_names_changes_nothing(facts_of, story, config, told):
    assert changes(story, judged(facts_of(with_vm(config)))) == {**told, **placed(None, takes=False, device=False)}


@pytest.mark.parametrize("config, mapping, problem", [
    ("hostpci0: mapping=gpu4", MAPPING.replace("node=pve1", "node=pve2"),
     "the mapping gpu4 has no device on this node"),
    ("hostpci0: 0000:42:00.0", None, "the host has no device 0000:42:00.0"),
    ("hostpci0: 0001:41:00", None, "the host has no device 0001:41:00"),
])
def test_a_device_that_this_node_has_not_is_the_vms_trouble_alone(facts_of, story, config, mapping, problem):
    assert changes(story, judged(facts_of(with_vm(config, mapping)))) == {
        **vm_200(f"hostpci0: {problem}", takes=False), **placed(None, takes=False)}


# -- the plan, with seven others in it --------------------------------------------------------------------------------

@pytest.mark.parametrize("change, reason", [
    (given_to_vfio, f"not applicable: {TO_VFIO}"),
    (asleep, f"not applicable: {SUSPENDED}"),
    (all_ones_on, "unknown: PCIe registers (lspci -xxxx) could not be read: the device is gone (it reads all ones)"),
    (in_use, "vllm (process 4711) uses the GPU: stop it first"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_a_gpu_that_cannot_be_changed_is_skipped_with_the_reason(facts_of, change, reason):
    facts = facts_of(variant(change))
    found = judged(facts)
    assert skipped(facts, found, "pcie_maxreadreq") == {ODD: reason}
    assert [gpu for gpu in GPUS if found["pcie_maxreadreq", gpu]["fix"]["planned"]] == list(OTHERS)


def test_a_gpu_in_use_is_planned_where_the_user_allows_it(facts_of, story):
    found = judged(facts_of(variant(in_use)), allow_busy=True)
    assert changes(story, found) == {}
    assert found["pcie_maxreadreq", ODD]["fix"]["planned"] is True


def test_what_the_user_allows_or_names_does_not_touch_a_gpu_of_a_guest(facts_of):
    """allow_busy is about processes; a GPU of a VM stays out whatever the user allows."""
    facts = facts_of(variant(given_to_vfio))
    found = judged(facts, allow_busy=True, dedicated=True, include=["pcie_maxreadreq"],
                   overrides={"pcie_maxreadreq": {"value": 2048}})
    assert skipped(facts, found, "pcie_maxreadreq") == {ODD: f"not applicable: {TO_VFIO}"}
    assert [found["pcie_maxreadreq", gpu]["fix"]["change"]["value"] for gpu in OTHERS] == [2048] * 7


def test_a_virtual_function_and_its_parent_are_skipped(facts_of, story):
    facts = facts_of(variant(with_virtual_function))
    found = judged(facts)
    assert skipped(facts, found, "pcie_maxreadreq") == {
        ODD: "the GPU has virtual functions enabled, whose guests share its link",
        FUNCTION: "not applicable: a virtual function of 0000:41:00.0: see the physical function"}
    assert changes(story, found) == {
        ("pcie_maxreadreq", ODD): "fail info: 512 -> 4096",
        **{(check, FUNCTION): f"not_applicable {priority}" for check, priority in {**REGISTERS, **SMI}.items()},
        ("gpu_driver", FUNCTION): "not_applicable P1", ("gpu_one_owner", FUNCTION): "not_applicable P1",
        ("vm_gpu_conflict", FUNCTION): "not_applicable info",
        ("gpu_runtime_pm", FUNCTION): "not_applicable P2", ("gpu_interrupts", FUNCTION): "not_applicable P2",
        ("gpu_numa_node", FUNCTION): "pass P1: 1",
        ("nvidia_flavour", FUNCTION): "pass P1: open",
        ("iommu_faults", FUNCTION): "pass P2: []", ("pcie_aer_corrected", FUNCTION): "pass P1: []",
        ("pcie_aer", FUNCTION): "pass P1: 0"}         # what the port above it counted


def test_claims_that_cannot_be_read_leave_every_gpu_alone(facts_of, story):
    """/etc/pve is there and empty: pmxcfs is not mounted, and any GPU might be named by a VM."""
    def plant(tree):
        plain(tree)
        for path in ("/etc/pve/local", "/etc/pve/lxc", "/etc/pve/qemu-server"):
            tree.remove(path)
        tree.path("/etc/pve/nodes").rename(tree.path("/etc/unmounted"))
        tree.path("/etc/pve/mapping").rmdir()

    facts = facts_of(plant)
    found = judged(facts)
    assert changes(story, found) == {
        ("numa_balancing", None): "fail P1: 1 -> 0", ("nvidia_device_nodes", None): "unknown P1",
        ("nvidia_container_library", None): "unknown P0", ("container_nodes", None): "unknown P1",
        ("container_nodes", "lxc:101"): None, ("container_nodes", "lxc:102"): None,
        ("guest_pending_devices", None): "unknown info",
        ("nvidia_container_library", "lxc:101"): None, ("nvidia_container_library", "lxc:102"): None,
        **{pair: text for check, priority in OF_GUESTS.items() for pair, text in (
            ((check, None), f"unknown {priority}"), ((check, "lxc:101"), None), ((check, "lxc:102"), None))},
        ("lxc_library_mounts", None): "unknown P1", ("lxc_memlock", None): "unknown P1",
        ("lxc_shm_size", None): "unknown P1", ("vm_hostpci", None): "unknown P1",
        **{(check, None): f"unknown {priority}" for check, priority in OF_VMS.items()},
        ("iommu_for_guests", None): "unknown P1",
        ("vm_survives_reboot", None): "unknown info", ("ha_guests", None): "unknown P1",
        **{("gpu_one_owner", gpu): "unknown P1" for gpu in GPUS},
        **{("vm_gpu_conflict", gpu): "unknown info" for gpu in GPUS},
        **{("pcie_maxreadreq", gpu): "fail info: 512 -> 4096" for gpu in GPUS}}
    assert set(skipped(facts, found, "pcie_maxreadreq")) == set(GPUS)


def test_without_root_registers_are_unknown_and_nothing_is_planned_on_them(facts_of, story):
    """The kernel gives a user the first 64 bytes of a config space (pci_read_config() in drivers/pci/pci-sysfs.c)."""
    def plant(tree):
        plain(tree)
        for device in (*GPUS, *map(root_port, GPUS)):
            path = f"{pci.DEVICES}/{device}/config"
            tree.file(path, tree.path(path).read_bytes()[:64])

    facts = facts_of(plant)
    found = judged(facts)
    own = {check: {tuple(GPUS): f"unknown {priority}"} for check, priority in REGISTERS.items()
           if not check.startswith("pcie_bar")}     # the size of the window and of the memory are known to everybody
    assert changes(story, found) == expand({**own, "iommu_acs": "unknown P2"})
    assert set(skipped(facts, found, "pcie_maxreadreq").values()) == {
        "unknown: PCIe registers (lspci -xxxx) could not be read: it needs root"}


# -- processors -------------------------------------------------------------------------------------------------------

def threads_off(tree):
    plain(tree)
    tree.files(cpu.CPU, {"smt/control": "forceoff", "smt/active": 0})


def limited_intel(tree):
    """A tool limited the clock of cores and mesh, and its driver's own limit."""
    intel_server(tree)
    tree.file(f"{cpu.CPU}/intel_pstate/max_perf_pct", 70)
    tree.file(cpu.policy_path(5, "scaling_max_freq"), 2800000)
    cpu.plant_uncore(tree, "package_01_die_00", max_khz=1400000)


def latency_held(tree):
    plain(tree)
    cpu.request_latency(tree, (20).to_bytes(4, "little"))


def tsc_given_up(tree):
    plain(tree)
    cpu.plant_clocksource(tree, current="hpet", available="hpet acpi_pm ")
    kernel.plant_log(tree, (0.0, "Linux version 6.8.12-9-pve"),
                     "tsc: Marking TSC unstable due to check_tsc_sync_source")


def test_threads_that_the_kernel_switched_off(facts_of, story):
    found = judged(facts_of(threads_off))
    assert changes(story, found) == {("cpu_smt", None): 'fail info: forceoff -> none_of ["off", "forceoff"]',
                                     ("cpus_offline", None): "not_applicable P2"}
    assert "nosmt=force" in found["cpu_smt", None]["fix"]["how"]
    assert "/etc/default/grub" in found["cpu_smt", None]["fix"]["how"]


def test_limits_of_an_intel_host(facts_of):
    found = judged(facts_of(limited_intel))
    assert changes(judged(facts_of(intel_server)), found) == {
        ("cpu_max_perf_pct", None): "fail P1: 70 -> at_least 100",
        ("cpu_frequency_limits", "policy5"): "fail P1: 2800000 -> at_least 4100000",
        ("uncore_frequency", "package_01_die_00"): "fail P2: 1400000 -> at_least 2500000"}
    assert found["uncore_frequency", "package_01_die_00"]["fix"]["how"] == (
        "echo 2500000 > /sys/devices/system/cpu/intel_uncore_frequency/package_01_die_00/max_freq_khz")


def test_a_request_for_latency_keeps_cpus_out_of_deep_states(facts_of, story):
    found = judged(facts_of(latency_held))
    assert changes(story, found) == {("cstate_latency", "state2"): "pass info: true"}
    assert found["cstate_latency", "state2"]["reason"] == (
        "state2 (C2, 800 us) is avoided because of a latency request of 20 us (/dev/cpu_dma_latency)")


def test_why_the_kernel_gave_up_the_time_stamp_counter(facts_of, story):
    found = judged(facts_of(tsc_given_up))
    assert changes(story, found) == {
        ("clocksource", None): 'fail P1: hpet -> one_of ["tsc", "arch_sys_counter"]'}
    assert "tsc: Marking TSC unstable due to check_tsc_sync_source" in found["clocksource", None]["fix"]["how"]


def four_nodes_a_socket(tree):
    """NPS4, and one quarter of a socket has no modules."""
    plain(tree)
    numa.plant_nodes(tree, [f"{8 * node}-{8 * node + 7}" for node in range(8)],
                     memory_kib=[63 * numa.GIB, 0, *[63 * numa.GIB] * 6])


def test_a_socket_in_quarters_one_of_them_empty(facts_of, story):
    found = changes(story, judged(facts_of(four_nodes_a_socket)))
    assert {pair: message for pair, message in found.items() if pair[0].startswith("numa_")} == {
        ("numa_node_memory", None): 'fail P1: ["node1 (CPUs 8-15)"] -> empty true',
        ("numa_nodes_per_socket", None): "fail info: 4 -> at_most 1"}


def interrupt_far_away(tree, address):
    tree.file(f"/proc/irq/{200 + GPUS[address]}/effective_affinity_list", 3)


def test_an_interrupt_on_the_other_node_comes_with_the_command(facts_of, story):
    found = judged(facts_of(variant(interrupt_far_away)))
    assert changes(story, found) == {("gpu_interrupts", ODD): "fail P2: [204] -> empty true"}
    assert found["gpu_interrupts", ODD]["reason"] == (
        "interrupt 204 goes to CPUs 3; node 1 has 32-63,96-127")
    assert found["gpu_interrupts", ODD]["fix"]["how"].startswith(
        "echo 32-63,96-127 > /proc/irq/204/smp_affinity_list\n")


# -- the next boot ----------------------------------------------------------------------------------------------------

def systemd_boot(tree):
    plain(tree)
    boot.plant_systemd_boot(tree, kernel.RELEASE, line="root=ZFS=rpool/ROOT/pve-1 boot=zfs iommu=pt")
    tree.file("/proc/cmdline", tree.path("/proc/cmdline").read_text().replace(" iommu=pt", " amd_iommu=pt"))


def test_a_host_that_systemd_boot_starts_has_another_file_to_edit(facts_of, story):
    found = judged(facts_of(systemd_boot))
    assert changes(story, found) == {("cmdline_configured", None): 'fail info: ["iommu=pt"] -> empty true',
                                     ("cmdline_ignored", None): 'fail P2: ["amd_iommu=pt"] -> empty true'}
    assert found["cmdline_configured", None]["reason"] == (
        "systemd-boot boots this host: iommu=pt in /etc/kernel/cmdline takes effect at the next boot")
    place = "edit the one line of /etc/kernel/cmdline, then run proxmox-boot-tool refresh"
    of_a_reboot = [finding["fix"]["how"] for finding in found.values()
                   if finding["fix"]["class"] == "reboot" and finding["verdict"] == "fail"]
    assert len(of_a_reboot) >= 4 and [how for how in of_a_reboot if place not in how] == []
