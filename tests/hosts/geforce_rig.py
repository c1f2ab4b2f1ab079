# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Four GeForce RTX 4090 in a Proxmox VE 8 node, with IOMMU translation and ACS redirection at every root port.

`geforce_with_peer_keys` has the registry keys that make the driver offer peer access, `geforce_stock` has none, with
the open modules (which may be patched) or with NVIDIA's proprietary modules (which cannot be).
"""
from __future__ import annotations

from . import boot, cpu, kernel, managers, memory, network, numa, pci, processes, ras
from .config_space import ConfigSpace
from .nvidia import GEFORCE, PARAMETERS, Gpu, plant_libraries, plant_modprobe, plant_nvidia
from .proxmox import plant_proxmox
from .sysctl import plant_sysctls
from .tree import Tree

CARDS = ("0000:01:00.0", "0000:41:00.0", "0000:81:00.0", "0000:c1:00.0")
PORTS = ("0000:00:01.1", "0000:40:01.1", "0000:80:01.1", "0000:c0:01.1")
KEYS = '"ForceP2P=0x11;RMForceP2PType=1;RMPcieP2PType=2;GrdmaPciTopoCheckOverride=1"'
DRIVER = "570.148.08"
CPUS = "0-63"
CONTAINER = """\
arch: amd64
cores: 32
dev0: /dev/nvidia0,gid=44
dev1: /dev/nvidia1,gid=44
dev2: /dev/nvidia2,gid=44
dev3: /dev/nvidia3,gid=44
dev4: /dev/nvidiactl,gid=44
dev5: /dev/nvidia-uvm,gid=44
hostname: vllm
memory: 131072
ostype: debian
rootfs: local-zfs:subvol-101-disk-0,size=64G
"""
UVM_RULE = 'KERNEL=="nvidia_uvm", RUN+="/usr/bin/nvidia-modprobe -c 0 -u"'


def geforce_with_peer_keys(tree: Tree) -> Tree:
    """ForceP2P and related keys are in effect: the driver offers peer access between the cards."""
    plant_rig(tree, parameters={**PARAMETERS, "RegistryDwords": KEYS})
    return plant_modprobe(tree, f"options nvidia NVreg_RegistryDwords={KEYS}\n")


def geforce_stock(tree: Tree) -> Tree:
    """The open modules without keys: stock modules offer no peer access, patched ones do, and both look alike."""
    return plant_rig(tree)


def geforce_proprietary(tree: Tree) -> Tree:
    return plant_rig(tree, flavour="proprietary")


def geforce_passed_through(tree: Tree) -> Tree:
    """Like geforce_stock, with iommu=pt and ports that do not redirect: any peer access is direct."""
    return plant_rig(tree, iommu_type="identity", acs=0x0011)


def plant_rig(tree: Tree, *, flavour: str = "open", parameters: dict | None = None, iommu_type: str = "DMA-FQ",
              acs: int = 0x001D) -> Tree:
    """One EPYC 7543, 251 GiB, idle cards below separate root ports, all given to container 101."""
    kernel.plant_kernel(tree)
    kernel.plant_kernel_config(tree)
    boot.plant_grub(tree, kernel.RELEASE)
    kernel.plant_distribution(tree)
    kernel.plant_firmware(tree, system_vendor="ASRockRack", product_name="ROMED8-2T", board_name="ROMED8-2T",
                          bios_version="P3.80", bios_date="06/21/2024")
    online = cpu.plant_cpus(tree, sockets=1, cores=32, family=25, model=1, microcode="0xa0011d5",
                            model_name="AMD EPYC 7543 32-Core Processor")
    cpu.plant_frequency(tree, online, governor="performance", max_khz=2800000, hardware_max_khz=2800000)
    cpu.plant_idle(tree, online)
    cpu.plant_clocksource(tree)
    ras.plant_controllers(tree)
    numa.plant_nodes(tree, [CPUS])
    memory.plant_memory(tree, total_kib=251 * numa.GIB, available_kib=200 * numa.GIB)
    memory.plant_thp(tree)
    memory.plant_swap(tree)
    plant_sysctls(tree, {"kernel.numa_balancing": "0"})
    managers.plant_debian_12(tree, "nvidia-persistenced")
    network.plant_card(tree, "enp225s0f0np0", "0000:e1:00.0")
    network.plant_softnet(tree, (81200, 0, 3), (90400, 0, 0))
    for number, (card, port) in enumerate(zip(CARDS, PORTS)):
        _plant_card(tree, card, port, number, acs, {"local_cpulist": CPUS, "iommu_type": iommu_type})
    plant_nvidia(tree, DRIVER, flavour, parameters=parameters, gpus=[
        Gpu(card, number, "NVIDIA GeForce RTX 4090", 24564, 32768, smi={**GEFORCE, "display_active": "Disabled"},
            firmware=None if flavour == "open" else "N/A")
        for number, card in enumerate(CARDS)])
    plant_proxmox(tree, containers={"101": CONTAINER}, running=("101",))
    plant_libraries(tree, DRIVER, processes.plant_container_init(tree, 5101, "101"))
    processes.plant_container_nodes(tree, 5101, {
        **{f"/dev/nvidia{number}": (195, number) for number in range(len(CARDS))},
        "/dev/nvidiactl": (195, 255), "/dev/nvidia-uvm": (511, 0)})
    tree.file("/etc/udev/rules.d/70-nvidia.rules", UVM_RULE)
    return tree


def _plant_card(tree: Tree, card: str, port: str, number: int, acs: int, place: dict) -> None:
    link = {"max_speed": 16.0, "speed": 2.5}
    pci.plant_root_port(tree, port, device=0x1483, acs=acs, iommu_group=10 + number, express=link, **place)
    space = ConfigSpace(0x10DE, 0x2684, 0x030000).power_management(0x60).msi(0x68)
    space.express(0x78, port_type=1, **link).aer()
    space.resizable_bars((1, 32768, tuple(64 << step for step in range(10))))
    pci.plant_gpu(tree, card, parent=port, config=space, device=0x2684, class_=0x030000, iommu_group=30 + number,
                  interrupts={90 + number: CPUS},
                  bars=[(0, 0xF600_0000, 16 << 20, 32, False),
                        (1, 0xF8_0000_0000 + (number << 36), 32 << 30, 64, True)], **place)
