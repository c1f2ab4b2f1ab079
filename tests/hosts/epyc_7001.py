# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two EPYC 7451 (Zen, family 17h model 1) with four V100: Proxmox VE on a server of 2018.

Each processor has four dies with a memory controller each: eight NUMA nodes, which no BIOS setting merges.
"""
from __future__ import annotations

from . import boot, cpu, kernel, managers, memory, network, numa, pci, ras
from .config_space import ConfigSpace
from .nvidia import Gpu, plant_nvidia
from .proxmox import plant_proxmox
from .sysctl import plant_sysctls
from .tree import Tree

RELEASE = "6.8.12-9-pve"
GPUS = ("0000:11:00.0", "0000:21:00.0", "0000:61:00.0", "0000:71:00.0")
# First threads 0-47, second ones 48-95, six cores per die.
NODES = tuple(f"{6 * die}-{6 * die + 5},{48 + 6 * die}-{48 + 6 * die + 5}" for die in range(8))
FLAGS = cpu.EPYC_FLAGS.replace("cppc ", "").replace("avx512f ", "").replace("avx512dq ", "")
SMI = {"power_limit": 250, "default_power_limit": 250, "current_mig": "N/A", "pending_mig": "N/A",
       "remapped_row_pending": "N/A", "pending_retirement": "No", "channel_repair_pending": "N/A"}


def epyc_7001(tree: Tree, *, version: str = "550.163.01", flavour: str = "proprietary") -> Tree:
    options = "quiet iommu=pt"
    kernel.plant_kernel(tree, release=RELEASE, cmdline=f"BOOT_IMAGE=/boot/vmlinuz-{RELEASE} root=/dev/mapper/pve-root "
                                                       f"ro {options}")
    kernel.plant_kernel_config(tree, RELEASE)
    kernel.plant_distribution(tree)
    kernel.plant_firmware(tree, system_vendor="Supermicro", product_name="AS-4023S-TRT", board_name="H11DSi-NT",
                          bios_version="2.4", bios_date="12/27/2021")
    boot.plant_grub(tree, RELEASE, normally=options)
    _plant_processors(tree)
    numa.plant_nodes(tree, NODES, memory_kib=31 * numa.GIB, free_kib=25 * numa.GIB, distances=_distances())
    memory.plant_memory(tree, total_kib=251 * numa.GIB, available_kib=200 * numa.GIB)
    memory.plant_thp(tree)
    memory.plant_swap(tree)
    plant_sysctls(tree, {"kernel.numa_balancing": "0", "kernel.nmi_watchdog": "0", "vm.dirty_ratio": "10",
                         "vm.dirty_background_ratio": "5", "net.core.rmem_max": "16777216",
                         "net.core.wmem_max": "16777216"})
    managers.plant_debian_12(tree, "nvidia-persistenced")
    network.plant_softnet(tree, (880000, 0, 0))
    for number, address in enumerate(GPUS):
        _plant_gpu(tree, number, address)
    plant_nvidia(tree, version=version, flavour=flavour, gpus=[
        Gpu(address, number, "Tesla V100-PCIE-32GB", 32768, 32768, firmware="N/A", smi=SMI)
        for number, address in enumerate(GPUS)])
    plant_proxmox(tree, version="8.4.1")
    return tree


def _plant_processors(tree: Tree) -> None:
    online = cpu.plant_cpus(tree, sockets=2, cores=24, family=23, model=1, stepping=2, flags=FLAGS,
                            model_name="AMD EPYC 7451 24-Core Processor", microcode="0x800126e")
    cpu.plant_frequency(tree, online, driver="acpi-cpufreq", governor="performance", max_khz=2300000,
                        min_khz=1200000, hardware_max_khz=2300000, hardware_min_khz=1200000, boost=1, acpi_cppc=False)
    cpu.plant_idle(tree, online, states=(*cpu.EPYC_STATES[:2], cpu.IdleState("C2", "ACPI IOPORT 0x814", 400, 800)))
    cpu.plant_clocksource(tree)
    ras.plant_controllers(tree, 8, name="F17h")


def _distances() -> list[list[int]]:
    """10 to itself, 16 to a die of the same processor, 32 to the other one, as on such boards."""
    return [[10 if one == other else 16 if one // 4 == other // 4 else 32 for other in range(8)] for one in range(8)]


def _plant_gpu(tree: Tree, number: int, address: str) -> None:
    place = {"numa_node": 2 * number, "local_cpulist": NODES[2 * number]}
    bus = f"{int(address[5:7], 16) - 1:02x}"
    port = pci.plant_root_port(tree, f"0000:{bus}:01.1", device=0x1453, iommu_group=10 + number,
                               express={"max_speed": 8.0, "speed": 8.0}, **place)
    space = ConfigSpace(0x10DE, 0x1DB6, 0x030200).power_management(0x60).msi(0x68)
    space.express(0x78, speed=8.0, max_speed=8.0, max_payload=256, max_read_request=4096, ten_bit_tags_supported=False)
    pci.plant_gpu(tree, address, parent=port, device=0x1DB6, config=space.aer(), iommu_group=30 + number,
                  interrupts={90 + number: NODES[2 * number]},
                  bars=[(0, 0xB000_0000 + (number << 24), 16 << 20, 32, False),
                        (1, 0x100_0000_0000 * (number + 1), 32 << 30, 64, True)], **place)
