# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HGX baseboards: eight GPUs connected by NVSwitches, each with its own network card below the same PCIe switch.

On H100 the NVSwitches are PCI devices of NVIDIA (10de:22a3, class 0680) with a driver of their own. On B200 the host
sees only their management functions, ConnectX-7 devices of Mellanox without a network interface, and a second daemon,
nvlsm, runs next to the fabric manager. Addresses are those of a Supermicro SYS-821GE-TNHR and a Dell XE9685L. Assumed,
as no public capture has them: the registers of the switches' functions.
"""
from __future__ import annotations

from . import kernel, managers, network, pci, ubuntu
from .config_space import ConfigSpace
from .nvidia import FABRIC_UP, FABRIC_WAITS, Gpu, plant_links, plant_nvidia
from .processes import plant_process
from .tree import Tree

H100 = tuple(f"0000:{bus:02x}:00.0" for bus in (0x18, 0x2A, 0x3A, 0x5D, 0x9A, 0xAB, 0xBA, 0xDB))
NVSWITCHES = tuple(f"0000:c{number}:00.0" for number in (1, 2, 3, 4))
B200 = tuple(f"0000:{bus:02x}:00.0" for bus in (0x05, 0x15, 0x25, 0x35, 0x85, 0x95, 0xA5, 0xB5))
MANAGEMENT = ("0000:d5:00.0", "0000:d5:00.1", "0000:d9:00.0", "0000:d9:00.1")
FABRIC_MANAGER, SUBNET_MANAGER = "nvidia-fabricmanager", "nvlsm"
_MODULES = ("nvidia", "nvidia-uvm", "nvidia-modeset", "nvidia-drm", "nvidia-peermem")


def hgx_h100(tree: Tree) -> Tree:
    """Healthy: driver 535, fabric manager running, nvidia_peermem not needed with DMA-BUF of the open modules."""
    _plant_h100(tree, FABRIC_UP)
    managers.plant_service(tree, FABRIC_MANAGER)
    plant_process(tree, 815, "nv-fabricmanager", ("/dev/nvidiactl",))
    return tree


def hgx_h100_without_fabric_manager(tree: Tree) -> Tree:
    """Installed, neither enabled nor running: the GPUs wait for their fabric, and CUDA returns 802."""
    _plant_h100(tree, FABRIC_WAITS)
    managers.plant_service(tree, FABRIC_MANAGER, enabled=False, running=False)
    tree.sysctl("kernel.numa_balancing", 1)
    return tree


def hgx_b200(tree: Tree) -> Tree:
    """Healthy: driver 570, fabric manager and nvlsm running."""
    _plant_b200(tree, FABRIC_UP)
    managers.plant_service(tree, FABRIC_MANAGER)
    tree.file("/opt/nvidia/nvlsm/sbin/nvlsm", b"\x7fELF").file("/run/nvlsm.pid", "820")
    plant_process(tree, 820, "nvlsm", ("/dev/infiniband/umad8",))
    return tree


def hgx_b200_without_nvlsm(tree: Tree) -> Tree:
    """The package of the second daemon is missing, so the fabric manager exited at once."""
    _plant_b200(tree, FABRIC_WAITS)
    managers.plant_service(tree, FABRIC_MANAGER, running=False)
    return tree


def _plant_h100(tree: Tree, fabric: tuple[str, str, str]) -> None:
    ubuntu.plant_ubuntu(tree, "5.15.0-119-generic", "22.04", "hgx01", "intel_iommu=on iommu=pt", _MODULES)
    kernel.plant_firmware(tree, system_vendor="Supermicro", product_name="SYS-821GE-TNHR", board_name="X13DEG-OAD",
                          bios_version="2.1", bios_date="12/18/2023")
    ubuntu.plant_xeon(tree)
    ubuntu.plant_memory(tree, 1007)
    ubuntu.plant_settings(tree, "22.04", "nvidia-persistenced")
    for number, (gpu, root) in enumerate(zip(H100, (0x15, 0x26, 0x37, 0x59, 0x97, 0xA7, 0xB7, 0xD7))):
        below = _plant_pair(tree, number, root, vendor=0x8086, device=0x352A)
        _plant_gpu(tree, number, gpu, below[0], 0x2330, 128)
        _plant_card(tree, number, f"0000:{int(gpu[5:7], 16) + 1:02x}:00.0", below[1])
    for switch in NVSWITCHES:
        pci.plant_device(tree, switch, device=0x22A3, class_=0x068000, driver="nvidia-nvswitch", **_place(1),
                         config=ConfigSpace(0x10DE, 0x22A3, 0x068000).express(0x60, speed=16.0, width=2, max_width=2,
                                                                              max_speed=16.0))
    network.plant_card(tree, "eno1", "0000:f1:00.0", driver="ice", speed=25000, numa_node=1)
    _plant_driver(tree, "535.183.06", H100, "NVIDIA H100 80GB HBM3", 81559, 131072, 700, fabric)


def _plant_b200(tree: Tree, fabric: tuple[str, str, str]) -> None:
    ubuntu.plant_ubuntu(tree, "6.8.0-60-generic", "24.04", "b200-01", "iommu=pt", _MODULES)
    kernel.plant_firmware(tree, system_vendor="Dell Inc.", product_name="PowerEdge XE9685L", board_name="0T2N6H",
                          bios_vendor="Dell Inc.", bios_version="1.2.6", bios_date="05/02/2025")
    ubuntu.plant_epyc(tree)
    ubuntu.plant_memory(tree, 1133)
    ubuntu.plant_settings(tree, "24.04", "nvidia-persistenced")
    for number, gpu in enumerate(B200):
        bus = int(gpu[5:7], 16)
        below = _plant_pair(tree, number, bus - 3, vendor=0x1022, device=0x153E)
        _plant_gpu(tree, number, gpu, below[0], 0x2901, 256)
        _plant_card(tree, number, f"0000:{bus + 1:02x}:00.0", below[1])
    for number, function in enumerate(MANAGEMENT):
        if function.endswith(".0"):
            port = pci.plant_root_port(tree, f"0000:{int(function[5:7], 16) - 1:02x}:01.1", iommu_group=90 + number,
                                       express={"width": 2}, **_place(1))
        _plant_mellanox(tree, function, port, width=2, max_width=16, iommu_group=95 + number)
        network.plant_rdma(tree, f"mlx5_{8 + number}", function)
    _plant_driver(tree, "570.133.20", B200, "NVIDIA B200", 183359, 262144, 1000, fabric)


def _place(number: int) -> dict:
    node = number // 4 if number > 1 else number
    return {"numa_node": node, "local_cpulist": ubuntu.NODE_CPUS[node]}


def _plant_pair(tree: Tree, number: int, root: int, *, vendor: int, device: int) -> list[str]:
    """A root port with a PCIe switch below it; returns the two ports of the switch."""
    place = _place(4 if number >= 4 else 0)
    port = pci.plant_root_port(tree, f"0000:{root:02x}:01.1", vendor=vendor, device=device, acs=0,
                               iommu_group=10 + number, **place)
    return pci.plant_switch(tree, f"0000:{root + 1:02x}:00.0",
                            [f"0000:{root + 2:02x}:{slot:02x}.0" for slot in (0, 1)], parent=port, acs=0, **place)


def _plant_gpu(tree: Tree, number: int, gpu: str, port: str, device: int, gib: int) -> None:
    place = _place(4 if number >= 4 else 0)
    space = ConfigSpace(0x10DE, device, 0x030200).power_management(0x40).msi(0x48).express(
        0x60, speed=32.0, max_payload=256, max_read_request=4096, ten_bit_tags=True).msix(0xB0).aer()
    space.resizable_bars((2, gib << 10, (gib << 10,)))
    pci.plant_gpu(tree, gpu, parent=port, device=device, config=space, iommu_group=60 + number,
                  bars=[(0, 0x20_0000_0000, 16 << 20, 64, True),
                        (2, 0x200_0000_0000 + number * (gib << 31), gib << 30, 64, True),
                        (4, 0x21_0000_0000, 32 << 20, 64, True)],
                  interrupts={200 + number: place["local_cpulist"]}, **place)


def _plant_card(tree: Tree, number: int, address: str, port: str) -> None:
    """A network card for each GPU; ib_ipoib creates its interface."""
    _plant_mellanox(tree, address, port, width=16, max_width=16, iommu_group=80 + number, node=number // 4)
    network.plant_rdma(tree, f"mlx5_{number}", address)
    network.plant_interface(tree, f"ibp{int(address[5:7], 16)}s0", address)


def _plant_mellanox(tree: Tree, address: str, port: str, *, width: int, max_width: int, iommu_group: int,
                    node: int = 1) -> None:
    space = ConfigSpace(0x15B3, 0x1021, 0x020700, revision=0).express(
        0x60, port_type=0, speed=32.0, max_payload=256, max_read_request=4096, width=width, max_width=max_width)
    pci.plant_device(tree, address, parent=port, vendor=0x15B3, device=0x1021, class_=0x020700, revision=0,
                     driver="mlx5_core", config=space, iommu_group=iommu_group, numa_node=node,
                     local_cpulist=ubuntu.NODE_CPUS[node])


def _plant_driver(tree: Tree, version: str, gpus: tuple[str, ...], model: str, memory_mib: int, bar1_mib: int,
                  watts: int, fabric: tuple[str, str, str]) -> None:
    said = {"power_limit": watts, "default_power_limit": watts, "power_draw": watts // 10, "fabric": fabric}
    planted = [Gpu(gpu, minor, model, memory_mib, bar1_mib, pstate="P0", smi=said) for minor, gpu in enumerate(gpus)]
    plant_nvidia(tree, version=version, gpus=planted)
    plant_links(tree, planted, 18)
