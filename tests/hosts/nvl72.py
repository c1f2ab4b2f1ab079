# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A compute tray of a GB200 NVL72 rack: two Grace CPUs and four GPUs, with NVSwitches in other trays of the rack.

The tray runs no fabric manager, only nvidia-imex, with which programs share GPU memory across trays.
"""
from __future__ import annotations

from . import kernel, managers, numa, pci, ubuntu
from . import memory as memory_of
from .config_space import ConfigSpace
from .nvidia import FABRIC_UP, Gpu, plant_links, plant_nvidia
from .tree import Tree

GB200 = tuple(f"{domain}:01:00.0" for domain in ("0008", "0009", "0018", "0019"))
IMEX = "nvidia-imex"
NOT_STARTED = ("Not Started", "N/A", "<cliqueId>N/A</cliqueId><clusterUuid>N/A</clusterUuid>")
IN_RACK = (*FABRIC_UP[:2], FABRIC_UP[2].replace("00000000-0000-0000", "5e8e7a0b-9d5c-4a3e")
           .replace("<cliqueId>0", "<cliqueId>32766"))


def gb200(tree: Tree) -> Tree:
    """Healthy: the rack's fabric is up and nvidia-imex runs."""
    _plant(tree, IN_RACK)
    managers.plant_service(tree, IMEX)
    return tree


def gb200_without_fabric(tree: Tree) -> Tree:
    """The NVLink switch trays have not started the fabric; nvidia-imex is installed but not enabled."""
    _plant(tree, NOT_STARTED)
    managers.plant_service(tree, IMEX, enabled=False, running=False)
    tree.sysctl("kernel.numa_balancing", 1)
    return tree


def _plant(tree: Tree, fabric: tuple[str, str, str]) -> None:
    ubuntu.plant_ubuntu(tree, "6.8.0-1028-nvidia-64k", "24.04", "gb200-01", "iommu.passthrough=1",
                        ("nvidia", "nvidia-uvm", "nvidia-modeset", "nvidia-drm"))
    kernel.plant_firmware(tree, system_vendor="NVIDIA", product_name="GB200 NVL", board_name="P4764",
                          bios_vendor="NVIDIA", bios_version="02.03.17", bios_date="03/20/2025")
    ubuntu.plant_grace(tree)
    # Each Grace has 478 GiB, each pair of GPUs exposes its memory as a node without CPUs.
    numa.plant_nodes(tree, ("0-1", "2-3", "", ""), memory_kib=[478 * numa.GIB] * 2 + [368 * numa.GIB] * 2,
                     free_kib=300 * numa.GIB, far=40)
    memory_of.plant_memory(tree, total_kib=1692 * numa.GIB, available_kib=1500 * numa.GIB)
    memory_of.plant_thp(tree, sizes={})
    memory_of.plant_swap(tree)
    ubuntu.plant_settings(tree, "24.04", "nvidia-persistenced")
    for number, gpu in enumerate(GB200):
        node = number // 2
        place = {"numa_node": node, "local_cpulist": ("0-1", "2-3")[node]}
        port = pci.plant_root_port(tree, f"{gpu[:4]}:00:00.0", vendor=0x10DE, device=0x22B1, acs=0x1D,
                                   iommu_group=10 + 2 * number, **place)
        space = ConfigSpace(0x10DE, 0x2941, 0x030200).power_management(0x40).msi(0x48).express(
            0x60, speed=32.0, max_payload=256, max_read_request=4096, ten_bit_tags=True).aer()
        pci.plant_gpu(tree, gpu, parent=port, device=0x2941, config=space, iommu_group=11 + 2 * number,
                      bars=[(0, 0x6610_0200_0000, 64 << 20, 64, True), (2, 0x6620_0000_0000, 256 << 30, 64, True)],
                      interrupts={60 + number: place["local_cpulist"]}, **place)
    said = {"power_limit": 1200, "default_power_limit": 1200, "power_draw": 140, "fabric": fabric}
    gpus = [Gpu(gpu, minor, "NVIDIA GB200", 189471, 262144, pstate="P0", smi=said)
            for minor, gpu in enumerate(GB200)]
    plant_nvidia(tree, version="570.133.20", gpus=gpus)
    plant_links(tree, gpus, 18)
