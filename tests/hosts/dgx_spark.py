# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA DGX Spark as delivered: GB10 with ten large and ten medium cores, a GPU that shares its memory.

The processor is from a public capture. Assumed: the registers of the GPU's link, which is inside the chip.
"""
from __future__ import annotations

from . import boot, cpu, kernel, managers, memory, network, numa, pci, ras
from .arm import CORTEX_A725, CORTEX_X925, plant_arm_cpus, plant_cppc
from .config_space import ConfigSpace
from .nvidia import GEFORCE, Gpu, plant_nvidia
from .sysctl import plant_sysctls
from .tree import Tree

RELEASE = "6.17.0-1014-nvidia"
GPU = "000f:01:00.0"
# Two cable sockets, each shared by two functions.
PORTS = {"rocep1s0f0": "0000:01:00.0", "rocep1s0f1": "0000:01:00.1", "roceP2p1s0f0": "0002:01:00.0",
         "roceP2p1s0f1": "0002:01:00.1"}
MIDDLE, LARGE = (*range(5), *range(10, 15)), (*range(5, 10), *range(15, 20))
CPUS = "0-19"


def dgx_spark(tree: Tree) -> Tree:
    options = "quiet pci=pcie_bus_safe iommu.passthrough=0 init_on_alloc=0"
    kernel.plant_kernel(tree, release=RELEASE, build="#14-Ubuntu SMP PREEMPT_DYNAMIC", hostname="spark-1234",
                        cmdline=f"BOOT_IMAGE=/boot/vmlinuz-{RELEASE} root=/dev/nvme0n1p2 ro {options}")
    kernel.plant_distribution(tree, id="ubuntu", version_id="24.04", name="Ubuntu 24.04.3 LTS")
    kernel.plant_firmware(tree, system_vendor="NVIDIA", product_name="NVIDIA_DGX_Spark", board_name="P4242",
                          bios_vendor="American Megatrends International, LLC.", bios_version="5.36_0ACUM018")
    boot.plant_grub(tree, RELEASE, modules=boot.DKMS, normally=options)
    _plant_processor(tree)
    numa.plant_nodes(tree, [CPUS], memory_kib=125500000)
    memory.plant_memory(tree, total_kib=125500000, available_kib=100 * numa.GIB)
    memory.plant_thp(tree, enabled="madvise")
    memory.plant_swap(tree, "/swap.img file 16777212 0 -2")
    plant_sysctls(tree, {"kernel.numa_balancing": "0", "kernel.nmi_watchdog": None})
    managers.plant_ubuntu_24_04(tree, "irqbalance", "nvidia-persistenced")
    network.plant_softnet(tree, (880000, 0, 0))
    ras.plant_controllers(tree, 1, name="ghes_edac")
    _plant_gpu(tree)
    _plant_cards(tree)
    return tree


def _plant_processor(tree: Tree) -> None:
    online = plant_arm_cpus(tree, [CORTEX_A725 if number in MIDDLE else CORTEX_X925 for number in range(20)])
    for cpus, low, high, steps in ((MIDDLE, 338000, 2808000, 108), (LARGE, 1378000, 3900000, 150)):
        cpu.plant_frequency(tree, cpus, driver="cppc_cpufreq", governor="performance", min_khz=low, max_khz=high,
                            hardware_min_khz=low, hardware_max_khz=high, boost=0, policy_boost=0)
        plant_cppc(tree, cpus[:5], nominal=steps, highest=steps)
        plant_cppc(tree, cpus[5:], nominal=steps, highest=steps + 2 if steps < 150 else steps + 3)
    plant_cppc(tree, (19,), nominal=150, highest=154)       # the best core may run 2.7 percent faster
    cpu.plant_idle(tree, online, states=(cpu.IdleState("WFI", "ARM WFI", 1, 1),))
    cpu.plant_clocksource(tree, current="arch_sys_counter", available="arch_sys_counter ")


def _plant_gpu(tree: Tree) -> None:
    place = {"numa_node": -1, "local_cpulist": CPUS}
    port = pci.plant_root_port(tree, "000f:00:00.0", vendor=0x10DE, device=0x22D1, acs=None, iommu_group=20,
                               express={"max_speed": 2.5, "speed": 2.5, "width": 1}, **place)
    space = ConfigSpace(0x10DE, 0x2E12, 0x030000).power_management(0x40).msi(0x48)
    space.express(0x60, speed=2.5, max_speed=2.5, width=1, max_payload=128, max_payload_supported=128,
                  extended_tags=False, extended_tags_supported=False)
    pci.plant_gpu(tree, GPU, parent=port, device=0x2E12, class_=0x030000, config=space, iommu_group=21,
                  iommu_type="DMA-FQ", interrupts={60: CPUS}, bars=[(0, 0x1B0_0000_0000, 64 << 20, 64, True)], **place)
    smi = {**GEFORCE, "display_active": "Disabled", "power_limit": 0, "default_power_limit": 0}
    plant_nvidia(tree, version="580.95.05", gpus=[Gpu(GPU, 0, "NVIDIA GB10", 0, 0, smi=smi)])
    printed = tree.path("/recorded/nvidia-smi.xml")
    printed.write_text(printed.read_text().replace("<total>0 MiB</total>", "<total>Not Supported</total>")
                       .replace("0.00 W", "N/A"))


def _plant_cards(tree: Tree) -> None:
    """A ConnectX-7 with four lanes in each of two domains, and a cable in the first socket only."""
    place = {"numa_node": -1, "local_cpulist": CPUS}
    for domain in ("0000", "0002"):
        pci.plant_root_port(tree, f"{domain}:00:00.0", vendor=0x10DE, device=0x22CE, acs=None,
                            express={"max_width": 4, "width": 4}, **place)
    for name, address in PORTS.items():
        space = ConfigSpace(0x15B3, 0x1021, 0x020000)
        space.express(0x60, port_type=0, speed=32.0, width=4, max_width=4, max_read_request=512)
        pci.plant_device(tree, address, parent=f"{address[:4]}:00:00.0", vendor=0x15B3, device=0x1021,
                         class_=0x020000, driver="mlx5_core", config=space, **place)
        network.plant_rdma(tree, name, address, link_layer="Ethernet", model="MT4129",
                           **({} if address.endswith("0") else network.NO_CABLE))
