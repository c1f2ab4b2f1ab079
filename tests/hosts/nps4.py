# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One EPYC 9554 in NPS4: four NUMA nodes on one socket with an L40S each, otherwise nothing to report."""
from __future__ import annotations

from . import boot, cpu, kernel, managers, memory, network, numa, pci, ras
from .config_space import ConfigSpace
from .nvidia import Gpu, plant_nvidia
from .reference import TUNED
from .sysctl import plant_sysctls
from .tree import Tree

RELEASE = "6.12.57+deb13-amd64"
CARDS = ("0000:01:00.0", "0000:41:00.0", "0000:81:00.0", "0000:c1:00.0")
PORTS = ("0000:00:01.1", "0000:40:01.1", "0000:80:01.1", "0000:c0:01.1")
NODE_CPUS = ("0-15,64-79", "16-31,80-95", "32-47,96-111", "48-63,112-127")
DRIVER = "570.148.08"


def nps4_on_one_socket(tree: Tree) -> Tree:
    """Tuned, iommu=pt, no redirection: transfers between the GPUs stay within the processor."""
    kernel.plant_kernel(tree, release=RELEASE, build="#1 SMP PREEMPT_DYNAMIC Debian 6.12.57-1",
                        hostname="nps4",
                        cmdline=f"BOOT_IMAGE=/boot/vmlinuz-{RELEASE} root=/dev/nvme0n1p2 ro quiet iommu=pt")
    kernel.plant_kernel_config(tree, RELEASE)
    boot.plant_grub(tree, RELEASE, normally="quiet iommu=pt")
    kernel.plant_distribution(tree, version_id="13", name="Debian GNU/Linux 13 (trixie)")
    kernel.plant_firmware(tree, system_vendor="Supermicro", product_name="AS -2015HS-TNR", board_name="H13SSH",
                          bios_version="1.9", bios_date="08/30/2024")
    online = cpu.plant_cpus(tree, sockets=1, cores=64, family=25, model=17, microcode="0xa101148",
                            model_name="AMD EPYC 9554 64-Core Processor")
    cpu.plant_frequency(tree, online, driver="amd-pstate-epp", governor="performance", epp="performance",
                        max_khz=3775000, hardware_max_khz=3775000, amd_pstate="active")
    cpu.plant_idle(tree, online)
    cpu.plant_clocksource(tree)
    ras.plant_controllers(tree)
    numa.plant_nodes(tree, NODE_CPUS, memory_kib=94 * numa.GIB, far=12)
    memory.plant_memory(tree, total_kib=376 * numa.GIB, available_kib=350 * numa.GIB)
    memory.plant_thp(tree)
    memory.plant_swap(tree)
    plant_sysctls(tree, {**TUNED, "vm.max_map_count": "1048576"})
    managers.plant_debian_13(tree, "irqbalance", "nvidia-persistenced")
    network.plant_card(tree, "eno1np0", "0000:c5:00.0")
    network.plant_softnet(tree, (81200, 0, 3), (90400, 0, 0))
    for number, (card, port) in enumerate(zip(CARDS, PORTS)):
        _plant_card(tree, card, port, number)
    plant_nvidia(tree, DRIVER, gpus=[
        Gpu(card, number, "NVIDIA L40S", 46068, 65536, smi={"power_limit": 350, "default_power_limit": 350})
        for number, card in enumerate(CARDS)])
    return tree


def _plant_card(tree: Tree, card: str, port: str, number: int) -> None:
    place = {"numa_node": number, "local_cpulist": NODE_CPUS[number]}
    pci.plant_root_port(tree, port, device=0x14AB, iommu_group=10 + number, express={"max_speed": 16.0, "speed": 2.5},
                        **place)
    space = ConfigSpace(0x10DE, 0x26B9, 0x030200).power_management(0x60).msi(0x68)
    space.express(0x78, max_speed=16.0, speed=2.5, max_read_request=4096).msix(0xC8).aer()
    space.resizable_bars((1, 65536, (65536,)))
    pci.plant_gpu(tree, card, parent=port, config=space, device=0x26B9, iommu_group=30 + number,
                  interrupts={200 + number: NODE_CPUS[number]},
                  bars=[(0, 0xA000_0000, 16 << 20, 32, False),
                        (1, 0x380_0000_0000 + (number << 36), 64 << 30, 64, True)], **place)
