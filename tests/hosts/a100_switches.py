# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two Xeon 8480+ and eight A100 PCIe, two behind each PLX switch, with IOMMU translation and ACS redirection.

`a100_in_mig_mode` has every GPU in MIG mode, so none of them has peer access. `a100_whole` is the same host without
MIG, `a100_with_nics` has a ConnectX-7 on the third port of every switch.
"""
from __future__ import annotations

from . import boot, cpu, kernel, managers, memory, network, numa, pci, ras
from .config_space import ConfigSpace
from .nvidia import Gpu, plant_nvidia
from .sysctl import plant_sysctls
from .tree import Tree

RELEASE = "5.15.0-119-generic"
CARDS = ("0000:17:00.0", "0000:18:00.0", "0000:31:00.0", "0000:32:00.0",
         "0000:98:00.0", "0000:99:00.0", "0000:b1:00.0", "0000:b2:00.0")
# Root port, upstream port and the buses of the switch's downstream ports; `19:00.0` and the like are for an extra card.
SWITCHES = (("0000:14:02.0", "0000:15:00.0", "0000:16"), ("0000:2e:02.0", "0000:2f:00.0", "0000:30"),
            ("0000:95:02.0", "0000:96:00.0", "0000:97"), ("0000:ae:02.0", "0000:af:00.0", "0000:b0"))
NICS = ("0000:19:00.0", "0000:33:00.0", "0000:9a:00.0", "0000:b3:00.0")
NODE_CPUS = ("0-55,112-167", "56-111,168-223")
DRIVER = "535.183.06"
ACS_REDIRECT = 0x001D
LINK = {"max_speed": 16.0, "speed": 16.0}


def a100_in_mig_mode(tree: Tree) -> Tree:
    return plant_host(tree, mig="Enabled")


def a100_whole(tree: Tree) -> Tree:
    return plant_host(tree, mig="Disabled")


def a100_with_nics(tree: Tree) -> Tree:
    return plant_host(tree, mig="Enabled", nics=True)


def plant_host(tree: Tree, *, mig: str, nics: bool = False, iommu_type: str = "DMA-FQ",
               acs: int = ACS_REDIRECT) -> Tree:
    _plant_machine(tree)
    for switch, (root, upstream, bus) in enumerate(SWITCHES):
        node = switch // 2
        place = {"numa_node": node, "local_cpulist": NODE_CPUS[node], "iommu_type": iommu_type}
        pci.plant_root_port(tree, root, vendor=0x8086, device=0x347A, acs=acs, iommu_group=10 + switch,
                            express=LINK, **place)
        ports = [f"{bus}:{number:02x}.0" for number in (8, 16, 24)]
        pci.plant_switch(tree, upstream, ports, parent=root, vendor=0x10B5, device=0x9797, acs=acs,
                         express=LINK, **place)
        for port, number in zip(ports, (2 * switch, 2 * switch + 1)):
            _plant_card(tree, CARDS[number], port, number, place)
        if nics:
            _plant_nic(tree, NICS[switch], ports[2], switch, place)
    plant_nvidia(tree, DRIVER, "proprietary", gpus=[
        Gpu(card, number, "NVIDIA A100 80GB PCIe", 81920, 131072, pstate="P0",
            smi={"power_limit": 300, "default_power_limit": 300, "current_mig": mig, "pending_mig": mig})
        for number, card in enumerate(CARDS)])
    return tree


def _plant_machine(tree: Tree) -> None:
    kernel.plant_kernel(tree, release=RELEASE, build="#129-Ubuntu SMP", hostname="a100",
                        cmdline=f"BOOT_IMAGE=/vmlinuz-{RELEASE} root=/dev/nvme0n1p2 ro intel_iommu=on")
    kernel.plant_kernel_config(tree, RELEASE)
    boot.plant_grub(tree, RELEASE, normally="intel_iommu=on")
    kernel.plant_distribution(tree, id="ubuntu", version_id="22.04", name="Ubuntu 22.04.4 LTS")
    kernel.plant_firmware(tree, system_vendor="GIGABYTE", product_name="G493-SB0", board_name="MS93-FS0",
                          bios_version="R05", bios_date="08/01/2023")
    online = cpu.plant_cpus(tree, sockets=2, cores=56, vendor="GenuineIntel", family=6, model=143, stepping=8,
                            model_name="Intel(R) Xeon(R) Platinum 8480+", microcode="0x2b000603",
                            flags=cpu.XEON_FLAGS)
    cpu.plant_frequency(tree, online, driver="intel_pstate", governor="performance", epp="performance", boost=None,
                        intel_pstate="active", no_turbo=0, max_perf_pct=100, max_khz=3800000,
                        hardware_max_khz=3800000)
    cpu.plant_idle(tree, online, states=cpu.XEON_STATES, driver="intel_idle")
    for package in range(2):
        cpu.plant_uncore(tree, f"package_{package:02d}_die_00")
    cpu.plant_clocksource(tree)
    ras.plant_controllers(tree, 8, name="Intel_i10nm EDAC")
    numa.plant_nodes(tree, NODE_CPUS, memory_kib=503 * numa.GIB, far=21)
    memory.plant_memory(tree, total_kib=1006 * numa.GIB, available_kib=900 * numa.GIB)
    memory.plant_thp(tree, sizes={})
    memory.plant_swap(tree)
    plant_sysctls(tree, {"kernel.numa_balancing": "0", "kernel.nmi_watchdog": "0"})
    managers.plant_debian_12(tree, "irqbalance", "nvidia-persistenced")
    network.plant_softnet(tree, (81200, 0, 3))


def _plant_card(tree: Tree, card: str, port: str, number: int, place: dict) -> None:
    space = ConfigSpace(0x10DE, 0x20B5, 0x030200).power_management(0x60).msi(0x68)
    space.express(0x78, **LINK).msix(0xC8).aer().resizable_bars((1, 131072, (131072,)))
    pci.plant_gpu(tree, card, parent=port, device=0x20B5, config=space, iommu_group=60 + number,
                  interrupts={200 + number: place["local_cpulist"]},
                  bars=[(0, 0xA000_0000, 16 << 20, 32, False),
                        (1, 0x200_0000_0000 + (number << 37), 128 << 30, 64, True),
                        (3, 0x210_0000_0000 + (number << 26), 32 << 20, 64, True)], **place)


def _plant_nic(tree: Tree, nic: str, port: str, number: int, place: dict) -> None:
    space = ConfigSpace(0x15B3, 0x1021, 0x020700).express(0x60, max_speed=32.0, speed=16.0, max_read_request=4096)
    pci.plant_device(tree, nic, parent=port, vendor=0x15B3, device=0x1021, class_=0x020700, driver="mlx5_core",
                     config=space, iommu_group=80 + number, **place)
    network.plant_rdma(tree, f"mlx5_{number}", nic)
