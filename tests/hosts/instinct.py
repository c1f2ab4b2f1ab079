# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node with four or eight AMD Instinct MI300X connected by xGMI: Ubuntu 22.04, amdgpu, iommu=pt as in AMD's guide."""
from __future__ import annotations

from . import boot, cpu, kernel, memory, numa, pci
from .config_space import ConfigSpace
from .sysctl import plant_sysctls
from .tree import Tree

MI300X = ("0000:05:00.0", "0000:26:00.0", "0000:85:00.0", "0000:a6:00.0")
EIGHT = tuple(f"0000:{bus:02x}:00.0" for bus in (0x05, 0x26, 0x46, 0x65, 0x85, 0xA6, 0xC6, 0xE5))
# Messages of amdgpu_ras.c and amdgpu_device.c about uncorrectable and correctable memory errors, and about a reset.
LOG_OF_ERRORS = (
    (5000.0, f"amdgpu {EIGHT[2]}: amdgpu: socket: 2, die: 0 1 new uncorrectable hardware errors detected in umc block"),
    (5000.1, f"amdgpu {EIGHT[2]}: amdgpu: socket: 2, die: 0 1 uncorrectable hardware errors detected in total in umc "
             "block"),
    (5001.0, f"amdgpu {EIGHT[4]}: amdgpu: socket: 4, die: 1 3 new correctable hardware errors detected in umc block"),
    (6000.0, f"amdgpu {EIGHT[5]}: amdgpu: GPU reset begin!. Source:  4"),
    (6009.0, f"amdgpu {EIGHT[5]}: amdgpu: GPU reset(1) succeeded!"),
)
HIVE = "12034567890123456789"
VRAM = 205822885888         # bytes, 196288 MiB
NODE_CPUS = ("0-15", "16-31")


def gpu_space(**express: object) -> ConfigSpace:
    """A 74a1: an accelerator (class 1200) whose link stays at 32 GT/s when idle."""
    space = ConfigSpace(0x1002, 0x74A1, 0x120000, revision=0, subsystem=(0x1002, 0x74A1)).power_management(0x48)
    space.express(0x64, **{"max_payload": 256, "speed": 32.0, "ten_bit_tags": True, **express}).msix(0xC0)
    return space.aer().resizable_bars((0, 256 << 10, (256 << 10,)))


def instinct(tree: Tree) -> Tree:
    return _plant(tree, MI300X)


def eight_instincts(tree: Tree) -> Tree:
    """The full baseboard without problems; the log has the usual messages of amdgpu."""
    _plant(tree, EIGHT)
    kernel.add_to_log(tree, *((20.0 + number, f"amdgpu {gpu}: amdgpu: no uncorrectable hardware errors detected in "
                               "umc block") for number, gpu in enumerate(EIGHT)))
    return tree


def eight_instincts_with_errors(tree: Tree) -> Tree:
    """The third GPU's HBM had uncorrectable errors, and the sixth GPU hung and was reset."""
    eight_instincts(tree)
    kernel.add_to_log(tree, *LOG_OF_ERRORS)
    return tree


def _plant(tree: Tree, gpus: tuple[str, ...]) -> Tree:
    release = "6.8.0-60-generic"
    options = "root=/dev/nvme0n1p2 ro pci=realloc=off iommu=pt"
    kernel.plant_kernel(tree, release=release, build="#63~22.04.1-Ubuntu SMP PREEMPT_DYNAMIC", hostname="mi300",
                        cmdline=f"BOOT_IMAGE=/vmlinuz-{release} {options}")
    kernel.plant_kernel_config(tree, release)
    kernel.plant_distribution(tree, id="ubuntu", version_id="22.04", name="Ubuntu 22.04.5 LTS")
    kernel.plant_firmware(tree, system_vendor="Supermicro", product_name="AS-8125GS-TNMR2", board_name="H13DSG-OM",
                          bios_version="3.2", bios_date="01/10/2025")
    boot.plant_grub(tree, release, modules=(), normally=" ".join(options.split()[2:]))
    online = cpu.plant_cpus(tree, sockets=2, cores=16, threads=1, model_name="AMD EPYC 9124 16-Core Processor",
                            family=25, model=17)
    cpu.plant_frequency(tree, online, driver="amd-pstate-epp", governor="performance", epp="performance",
                        amd_pstate="active", max_khz=3711914, hardware_max_khz=3711914)
    cpu.plant_idle(tree, online)
    cpu.plant_clocksource(tree)
    numa.plant_nodes(tree, NODE_CPUS)
    memory.plant_memory(tree)
    memory.plant_thp(tree)
    memory.plant_swap(tree)
    plant_sysctls(tree, {"kernel.numa_balancing": "0"})
    for number, address in enumerate(gpus):
        _plant_gpu(tree, number, address, number * 2 // len(gpus))
    return tree


def _plant_gpu(tree: Tree, number: int, address: str, node: int) -> None:
    place = {"numa_node": node, "local_cpulist": NODE_CPUS[node]}
    bus = f"0000:{int(address[5:7], 16) - 1:02x}"
    port = pci.plant_root_port(tree, f"{bus}:01.1", device=0x14AB, acs=0x001D, iommu_group=10 + number, **place)
    pci.plant_gpu(tree, address, parent=port, vendor=0x1002, device=0x74A1, class_=0x120000, revision=0,
                  subsystem=(0x1002, 0x74A1), config=gpu_space(), driver="amdgpu", iommu_group=30 + number,
                  interrupts={300 + number: NODE_CPUS[node]},
                  bars=[(0, 0x100_0000_0000 * (number + 1), 256 << 30, 64, True)], **place)
    tree.files(pci.device_path(tree, address), {
        "power_dpm_force_performance_level": "auto", "current_compute_partition": "SPX",
        "current_memory_partition": "NPS1", "mem_info_vram_total": VRAM, "xgmi_hive_info/xgmi_hive_id": HIVE})
