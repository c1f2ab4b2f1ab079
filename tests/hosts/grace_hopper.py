# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA Grace Hopper: 72 Neoverse V2, a GPU whose memory is a NUMA node of the host, a kernel with 64 KiB pages.

Facts from public captures of such hosts and from NVIDIA's guides. Assumed: the registers of the GPU's PCI Express link,
which carries no data (NVLink-C2C does).
"""
from __future__ import annotations

from . import boot, cpu, kernel, managers, memory, network, numa, pci, ras
from .arm import NEOVERSE_V2, plant_arm_cpus, plant_cppc
from .config_space import ConfigSpace
from .modules import plant_module
from .nvidia import Gpu, plant_nvidia
from .sysctl import plant_sysctls
from .tree import Tree

RELEASE = "6.8.0-1028-nvidia-64k"
GPU = "0009:01:00.0"
CARD = "0002:01:00.0"       # a BlueField-3
CPUS = "0-71"
HOST_KIB, GPU_KIB = 490733568, 100400000        # node 0, and node 1, the memory of the GPU
TUNED = {"kernel.numa_balancing": "0", "vm.swappiness": "10", "vm.dirty_ratio": "10", "vm.dirty_background_ratio": "5",
         "net.core.rmem_max": "16777216", "net.core.wmem_max": "16777216", "vm.max_map_count": "1048576",
         "kernel.sched_autogroup_enabled": "0"}


def grace_hopper(tree: Tree) -> Tree:
    """Set up well: nothing is wrong with it."""
    return plant(tree, governor="performance", flavour="open", version="570.133.20", sysctls=TUNED)


def grace_hopper_as_installed(tree: Tree) -> Tree:
    """As found: the kernel's defaults, and the flavour of modules that NVIDIA does not support there."""
    plant(tree, governor="ondemand", flavour="proprietary", version="535.183.06", sysctls={})
    plant_module(tree, "nvidia_peermem")
    return tree


def plant(tree: Tree, *, governor: str, flavour: str, version: str, sysctls: dict) -> Tree:
    options = "console=tty0 init_on_alloc=0"
    kernel.plant_kernel(tree, release=RELEASE, build="#31-Ubuntu SMP PREEMPT_DYNAMIC", hostname="gh200",
                        cmdline=f"BOOT_IMAGE=/boot/vmlinuz-{RELEASE} root=/dev/nvme0n1p2 ro {options}")
    kernel.plant_distribution(tree, id="ubuntu", version_id="22.04", name="Ubuntu 22.04.5 LTS")
    kernel.plant_firmware(tree, system_vendor="Supermicro", product_name="ARS-111GL-NHR", board_name="G1SMH-G",
                          bios_version="2.0", bios_date="05/30/2025")
    boot.plant_grub(tree, RELEASE, modules=boot.DKMS, normally=options)
    _plant_processor(tree, governor)
    _plant_memory(tree)
    # The firmware of this platform offers no perf counter for a hard lockup detector.
    plant_sysctls(tree, {"kernel.nmi_watchdog": None, "vm.min_free_kbytes": "4718592", **sysctls})
    managers.plant_debian_12(tree, "irqbalance", "nvidia-persistenced")
    network.plant_softnet(tree, (880000, 0, 0))
    ras.plant_controllers(tree, 1, name="ghes_edac")
    _plant_devices(tree)
    plant_nvidia(tree, version=version, flavour=flavour, gpus=[
        Gpu(GPU, 0, "NVIDIA GH200 480GB", 97871, 131072, smi={"power_limit": 900, "default_power_limit": 900})])
    plant_numa_status(tree, GPU, 1)
    return tree


def _plant_processor(tree: Tree, governor: str) -> None:
    online = plant_arm_cpus(tree, [NEOVERSE_V2] * 72)
    cpu.plant_frequency(tree, online, driver="cppc_cpufreq", governor=governor, max_khz=3375000, min_khz=81000,
                        hardware_max_khz=3375000, hardware_min_khz=81000, boost=0)
    plant_cppc(tree, online, nominal=331, highest=331)
    cpu.plant_idle(tree, online, states=(cpu.IdleState("WFI", "ARM WFI", 1, 1),))
    cpu.plant_clocksource(tree, current="arch_sys_counter", available="arch_sys_counter ")


def _plant_memory(tree: Tree) -> None:
    """Node 1 is the memory of the GPU; the others are reserved for its instances (MIG) and are empty."""
    numa.plant_nodes(tree, [CPUS] + [""] * 8, memory_kib=[HOST_KIB, GPU_KIB] + [0] * 7, free_kib=90 * numa.GIB, far=80)
    memory.plant_memory(tree, total_kib=HOST_KIB + GPU_KIB, available_kib=500 * numa.GIB)
    memory.plant_thp(tree, enabled="madvise", sizes={128: "never", 2048: "never", 524288: "inherit"})
    memory.plant_pmd_size(tree, 512 << 20)
    memory.plant_swap(tree, "/swap.img file 8388544 0 -2")


def _plant_devices(tree: Tree) -> None:
    place = {"numa_node": 0, "local_cpulist": CPUS, "iommu_type": "DMA-FQ"}
    port = pci.plant_root_port(tree, "0009:00:00.0", vendor=0x10DE, device=0x22B1, acs=0x1D, iommu_group=10, **place)
    space = ConfigSpace(0x10DE, 0x2342, 0x030200).power_management(0x40).msi(0x48)
    pci.plant_gpu(tree, GPU, parent=port, device=0x2342, iommu_group=11, interrupts={60: CPUS},
                  config=space.express(0x60, speed=32.0, max_payload=256).aer(),
                  bars=[(0, 0x6610_0200_0000, 16 << 20, 64, True), (2, 0x6620_0000_0000, 128 << 30, 64, True),
                        (4, 0x6610_0000_0000, 32 << 20, 64, True)], **place)
    port = pci.plant_root_port(tree, "0002:00:00.0", vendor=0x10DE, device=0x22B2, acs=0x1D, iommu_group=12, **place)
    space = ConfigSpace(0x15B3, 0xA2DC, 0x020000)
    pci.plant_device(tree, CARD, parent=port, vendor=0x15B3, device=0xA2DC, class_=0x020000, driver="mlx5_core",
                     config=space.express(0x60, port_type=0, speed=32.0, max_read_request=4096), iommu_group=13,
                     **place)
    network.plant_rdma(tree, "mlx5_0", CARD)


def plant_numa_status(tree: Tree, gpu: str, node: int) -> None:
    """The driver's file with the node of a GPU's memory (nvidia-modprobe reads it to bring the memory online)."""
    tree.file(f"/proc/driver/nvidia/gpus/{gpu}/numa_status",
              f"Node:      {node}\nStatus:    online\n\nAddress:   420000000000\nSize:      1800000000\n")
