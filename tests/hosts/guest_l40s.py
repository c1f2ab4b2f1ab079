# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A KVM guest with Ubuntu 24.04 and two passed-through L40S: below root ports of QEMU, no IOMMU."""
from __future__ import annotations

from . import boot, cpu, kernel, managers, memory, network, numa, pci
from .config_space import ConfigSpace
from .nvidia import Gpu, plant_nvidia
from .sysctl import plant_sysctls
from .tree import Tree

RELEASE = "6.8.0-60-generic"
CARDS = ("0000:01:00.0", "0000:02:00.0")
DRIVER = "570.148.08"
CPUS = "0-31"


def guest_with_l40s(tree: Tree) -> Tree:
    """The view of a VM: emulated ports, MaxReadReq as set by the hypervisor, no cpufreq, no idle states."""
    kernel.plant_kernel(tree, release=RELEASE, build="#63-Ubuntu SMP PREEMPT_DYNAMIC", hostname="vllm-vm",
                        cmdline=f"BOOT_IMAGE=/boot/vmlinuz-{RELEASE} root=/dev/vda1 ro quiet")
    kernel.plant_kernel_config(tree, RELEASE)
    boot.plant_grub(tree, RELEASE)
    kernel.plant_distribution(tree, id="ubuntu", version_id="24.04", name="Ubuntu 24.04.2 LTS")
    kernel.plant_firmware(tree, system_vendor="QEMU", product_name="Standard PC (Q35 + ICH9, 2009)", board_name="",
                          bios_vendor="EFI Development Kit II / OVMF", bios_version="4.2023.08-4",
                          bios_date="02/15/2024")
    cpu.plant_cpus(tree, sockets=1, cores=32, threads=1, flags=cpu.VM_FLAGS, family=25, model=17,
                   model_name="AMD EPYC 9354 32-Core Processor")
    cpu.plant_no_frequency(tree)
    cpu.plant_clocksource(tree, current="kvm-clock", available="kvm-clock tsc hpet acpi_pm ")
    numa.plant_nodes(tree, [CPUS], memory_kib=125 * numa.GIB)
    memory.plant_memory(tree, total_kib=125 * numa.GIB, available_kib=120 * numa.GIB)
    memory.plant_thp(tree)
    memory.plant_swap(tree)
    # Without a performance monitoring unit the kernel makes the file read-only with value 0.
    plant_sysctls(tree, {"kernel.numa_balancing": "0"})
    tree.file("/proc/sys/kernel/nmi_watchdog", "0", mode=0o444)
    managers.plant_ubuntu_24_04(tree, "irqbalance", "nvidia-persistenced")
    network.plant_softnet(tree, (81200, 0, 3))
    for number, card in enumerate(CARDS):
        _plant_card(tree, card, number)
    plant_nvidia(tree, DRIVER, gpus=[
        Gpu(card, number, "NVIDIA L40S", 46068, 65536,
            smi={"power_limit": 350, "default_power_limit": 350, "current_mig": "N/A", "pending_mig": "N/A"})
        for number, card in enumerate(CARDS)])
    return tree


def _plant_card(tree: Tree, card: str, number: int) -> None:
    """QEMU's root port (1b36:000c) reports 16 GT/s x32, has no extended tags and no counting AER."""
    small = {"max_payload": 128, "max_payload_supported": 128}
    port = pci.plant_root_port(tree, f"0000:00:1c.{number}", vendor=0x1B36, device=0x000C, acs=0x0000, numa_node=-1,
                               local_cpulist=CPUS, express={"max_speed": 16.0, "speed": 16.0, "max_width": 32,
                                                            "extended_tags": False, "extended_tags_supported": False,
                                                            **small})
    space = ConfigSpace(0x10DE, 0x26B9, 0x030200).power_management(0x60).msi(0x68)
    space.express(0x78, max_speed=16.0, speed=16.0, max_payload=128).msix(0xC8)
    pci.plant_gpu(tree, card, parent=port, config=space, device=0x26B9, numa_node=-1, local_cpulist=CPUS, aer=None,
                  interrupts={30 + number: CPUS},
                  bars=[(0, 0x8000_0000, 16 << 20, 32, False),
                        (1, 0x38_0000_0000 + (number << 36), 64 << 30, 64, True)])
