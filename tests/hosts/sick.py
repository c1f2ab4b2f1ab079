# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The story's host with failures of almost every check: bad settings, and three sick GPUs."""
from __future__ import annotations

import shutil

from . import boot, cpu, kernel, managers, memory, network, numa, pci, processes, ras
from .config_space import ConfigSpace, gpu_space, root_port_space
from .modules import plant_installed_kernel, plant_module
from .nvidia import PARAMETERS, Gpu, plant_modprobe, smi_xml, version_text
from .story_before import ACS_REDIRECT, CONTAINERS, DRIVER, GPUS, NODE_CPUS, root_port, story_before
from .tree import Tree

RDMA_CARD = "0000:e4:00.0"
DEGRADED, UNBOUND, OLD_SLOT = "0000:41:00.0", "0000:11:00.0", "0000:21:00.0"
# Seconds, GPU, the newer drivers' addition inside the parentheses, number and text.
XIDS = (
    (812.5, OLD_SLOT, "", "48, pid=4711, name=vllm, DBE (double bit error) ECC Error"),
    (813.0, OLD_SLOT, "", "63, pid=4711, Row Remapper: New row marked for remapping, reset gpu to activate."),
    (900.0, DEGRADED, " GPU-I:05", "31, pid=4712, name=vllm, MMU Fault"),
    (901.0, DEGRADED, "", "31, pid=4713, name=vllm, MMU Fault"),
    (950.0, DEGRADED, "", "109, pid=4713, name=vllm, Ch 00000008, errorString CTX SWITCH TIMEOUT"),
)
SMALL_WINDOW = """\
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000076000000000 0x000007600fffffff 0x000000000014220c
"""     # BAR 2: 256 MiB, 64 bits, prefetchable
# The output of nvidia-smi for the driver's two GPUs: one is throttled, the other has broken memory.
SAID = {
    DEGRADED: {"power_limit": 400, "reasons": ("hw_slowdown", "hw_thermal_slowdown"),
               "compute_mode": "Exclusive_Process", "vbios_version": "98.02.52.00.02"},
    OLD_SLOT: {"persistence_mode": "Disabled", "dram_uncorrectable": 2, "remapped_row_pending": "Yes",
               "pending_mig": "Enabled", "recovery": "Reset"},
}


WITHOUT_WINDOW = SMALL_WINDOW.splitlines()[0] + "\n"      # the bridge above it had no room for its BARs


def sick(tree: Tree) -> Tree:
    """Four CPUs, one of them offline; nothing here depends on their number."""
    story_before(tree, cores=1, swap=True)
    _spoil_processors(tree)
    _spoil_next_boot(tree)
    _spoil_nodes(tree)
    _spoil_hardware(tree)
    tree.file("/proc/sys/kernel/version", "#1 SMP PREEMPT_RT Debian 6.8.12-9")
    _spoil_memory(tree)
    _spoil_sysctl_files(tree)
    _spoil_network(tree)
    _spoil_gpus(tree)
    tree.program("nvidia-smi.xml", smi_xml([Gpu(bdf, minor, smi=SAID.get(bdf, {})) for bdf, minor in GPUS.items()],
                                           DRIVER))
    kernel.add_to_log(tree, *((seconds, f"NVRM: Xid (PCI:{bdf.rpartition('.')[0]}{suffix}): {text}")
                              for seconds, bdf, suffix, text in XIDS))
    # Options newer than the initramfs, keys without effect or with too much, nouveau although it is blacklisted.
    plant_modprobe(tree, "options nvidia NVreg_EnableResizableBar=1 \\\n  NVreg_DeviceFileMode=0666\n",
                   path="/etc/modprobe.d/rebar.conf", time="2026-11-20T08:00:00Z")
    tree.file("/proc/driver/nvidia/params", "\n".join(f"{name}: {value}" for name, value in {
        **PARAMETERS, "EnablePCIERelaxedOrderingMode": 1,
        "RegistryDwords": '"ForceP2P=0x11;EnableResizableBar=1"'}.items()))
    plant_module(tree, "nouveau")
    # The wrong flavour for a Blackwell, a container with a missing node, and a network card with RDMA.
    tree.file("/proc/driver/nvidia/version", version_text(DRIVER, "proprietary"))
    tree.file("/etc/pve/nodes/pve1/lxc/102.conf", CONTAINERS["102"] + "dev6: /dev/nvidia9\n")
    tree.file("/proc/kallsyms", "0000000000000000 t ib_register_peer_memory_client\t[ib_core]")
    return tree


def _spoil_next_boot(tree: Tree) -> None:
    """A newer kernel without NVIDIA's module, a parameter pending for it, one in the file of an unused boot loader."""
    boot.plant_grub(tree, normally="quiet amd_iommu=on amd_pstate=active")
    plant_installed_kernel(tree, "6.17.13-2-pve", ("r8168",))
    tree.file("/etc/kernel/cmdline", "root=/dev/mapper/pve-root ro pcie_aspm=off")
    tree.file("/proc/cmdline", f"{kernel.CMDLINE} amd_iommu=on pci=pcie_bus_perf")


def _spoil_processors(tree: Tree) -> None:
    for number in range(3):
        tree.file(cpu.policy_path(number, "scaling_governor"), "schedutil")
    shutil.rmtree(tree.path(cpu.policy_path(3)))
    # Left by a power saving tool: one CPU is limited from both sides.
    tree.file(cpu.policy_path(2, "scaling_max_freq"), 2000000).file(cpu.policy_path(2, "scaling_min_freq"), 1800000)
    tree.files(cpu.CPU, {"isolated": "1-2", "nohz_full": "1-2"})
    tree.files(f"{cpu.CPU}/vulnerabilities", cpu.VULNERABLE)
    tree.file("/proc/cpuinfo", tree.path("/proc/cpuinfo").read_text().replace("0xb002147", "0xb002110", 1))
    tree.files(cpu.CPU, {"cpufreq/boost": 0, "online": "0-2", "offline": "3"})
    cpu.plant_clocksource(tree, current="hpet", available="hpet acpi_pm ")


def _spoil_hardware(tree: Tree) -> None:
    """One module has 400 corrected errors a day, another had an uncorrectable one, and the BIOS hides CPPC."""
    ras.count_errors(tree, 0, 2, correctable=4000)
    ras.count_errors(tree, 1, 0, uncorrectable=1)
    kernel.add_to_log(tree, (700.0, "mce: [Hardware Error]: Machine check events logged"),
                      (700.1, "[Hardware Error]: Uncorrected, software containable error."))
    for folder in tree.path(cpu.CPU).glob("cpu*/acpi_cppc"):
        folder.rmdir()


def _spoil_nodes(tree: Tree) -> None:
    """Node 1 lost half of its modules, and the interrupt of a GPU on node 0 moved to node 1."""
    numa.plant_nodes(tree, NODE_CPUS, memory_kib=(251 * numa.GIB, 126 * numa.GIB))
    tree.files("/proc/irq/203", {"effective_affinity_list": 40, "smp_affinity_list": "0-127"})


def _spoil_memory(tree: Tree) -> None:
    memory.plant_thp(tree, enabled="never", defrag="always", shmem_enabled="force")
    memory.plant_ksm(tree, run=1, shared=9000, sharing=81920)
    memory.plant_arc(tree, 252 << 30, size=60 << 30)
    memory.plant_hugepages(tree, 1 << 20, {0: (32, 32), 1: (32, 30)})
    memory.plant_shm(tree, "65536k")
    for key, value in {"vm.zone_reclaim_mode": 1, "kernel.perf_event_paranoid": -1, "vm.overcommit_memory": 2,
                       "vm.min_free_kbytes": 64 << 20}.items():
        tree.sysctl(key, value)
    processes.plant_process(tree, 4712, "trainer", ("/dev/nvidia-uvm", "/dev/infiniband/uverbs0"))
    processes.plant_limits(tree, 4712, locked=8388608)


def _spoil_sysctl_files(tree: Tree) -> None:
    """The state after an upgrade to Debian 13: the link to sysctl.conf is gone, and its settings with it."""
    tree.remove("/etc/sysctl.d/99-sysctl.conf")
    tree.file("/etc/sysctl.conf", "vm.dirty_ratio = 10\n")
    tree.file("/etc/sysctl.d/50-old.conf", "vm.swappiness = 1\nvm.zone_reclaim_mode = 1\n")
    managers.plant_service(tree, "tlp", running=False)


def _spoil_network(tree: Tree) -> None:
    tree.sysctl("net.core.somaxconn", 128)
    network.plant_softnet(tree, (1 << 31, 5000, 3), (90400, 2, 0))
    network.plant_card(tree, "eno1", "0000:e2:00.0", driver="igb", speed=100, duplex="half")
    narrow = {"width": 8, "speed": 16.0, "max_speed": 16.0}
    port = pci.plant_root_port(tree, "0000:e3:01.1", express=narrow)
    pci.plant_device(tree, RDMA_CARD, parent=port, vendor=0x15B3, device=0x1021, class_=0x020700, driver="mlx5_core",
                     config=ConfigSpace(0x15B3, 0x1021, 0x020700).express(0x60, port_type=0, **narrow))
    network.plant_rdma(tree, "mlx5_0", RDMA_CARD)


def _spoil_gpus(tree: Tree) -> None:
    """One GPU with every register problem, one without a driver, one in a slot of 16 GT/s."""
    slow = {"width": 8, "speed": 5.0}
    pci.write_config(tree, DEGRADED, gpu_space(max_read_request=256, max_payload=512, max_payload_supported=512,
                                               bar_mib=256, autonomous_speed_disabled=True, extended_tags=False,
                                               **slow))
    pci.write_config(tree, root_port(DEGRADED), root_port_space(acs=ACS_REDIRECT, **slow))
    pci.plant_aer(tree, root_port(DEGRADED), {"fatal": {"DLP": 1}})
    tree.files(pci.device_path(tree, DEGRADED), {"numa_node": -1, "resource": SMALL_WINDOW})
    pci.bind(tree, UNBOUND, None)
    tree.files(pci.device_path(tree, UNBOUND), {"resource": WITHOUT_WINDOW})
    pci.write_config(tree, OLD_SLOT, gpu_space(aspm=2))
    pci.write_config(tree, root_port(OLD_SLOT), root_port_space(acs=ACS_REDIRECT, max_speed=16.0, speed=2.5, aspm=2))
    pci.plant_aspm_policy(tree)
