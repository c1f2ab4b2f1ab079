# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference host: the public report of an ASUS ESC8000A-E13P with two EPYC 9575F and eight RTX PRO 6000.

From that report: CPUs (239 is offline), nodes and distances, kernel 6.17.0-20-generic and its command line, PCI tree,
registers, links and BARs, device minors, driver 595.58.03, firmware. It lacks sysctls, governors, huge pages and swap;
these are planted with the defaults of Ubuntu 24.04.
"""
from __future__ import annotations

from . import boot, cpu, kernel, managers, memory, network, numa, pci, ras
from .nvidia import Gpu, plant_nvidia
from .sysctl import plant_sysctls
from .tree import Tree

RELEASE = "6.17.0-20-generic"
CMDLINE = (f"BOOT_IMAGE=/vmlinuz-{RELEASE} root=UUID=00000000-0000-4000-8000-000000000001 ro mitigations=off "
           "spectre_v2=off spec_store_bypass_disable=off amd_iommu=off iommu=off")
UNKNOWN = ('Unknown kernel command line parameters "spectre_v2=off spec_store_bypass_disable=off", will be passed to '
           "user space.")
NODE_CPUS = ("0-63,128-191", "64-127,192-238,240-255")

# With all 256 CPUs online the IOMMU must be on; it is in passthrough mode for the GPUs.
PASSED_THROUGH = f"BOOT_IMAGE=/vmlinuz-{RELEASE} root=UUID=00000000-0000-4000-8000-000000000001 ro iommu=pt"

# Root port, switch's upstream port, bus of its downstream ports, {slot of the downstream port: GPU}
SWITCHES = (
    ("0000:00:01.1", "0000:01:00.0", "0000:02", {3: "0000:06:00.0", 4: "0000:07:00.0"}),
    ("0000:70:01.1", "0000:71:00.0", "0000:72", {2: "0000:75:00.0", 3: "0000:76:00.0"}),
    ("0000:80:01.1", "0000:81:00.0", "0000:82", {1: "0000:84:00.0", 2: "0000:85:00.0"}),
    ("0000:f0:01.1", "0000:f1:00.0", "0000:f2", {1: "0000:f4:00.0", 2: "0000:f5:00.0"}),
)
MINORS = {"0000:06:00.0": 2, "0000:07:00.0": 3, "0000:75:00.0": 0, "0000:76:00.0": 1,
          "0000:84:00.0": 6, "0000:85:00.0": 7, "0000:f4:00.0": 4, "0000:f5:00.0": 5}


# The settings of an operator: everything that the catalogue recommends at run time.
TUNED = {"kernel.numa_balancing": "0", "kernel.nmi_watchdog": "0", "kernel.sched_autogroup_enabled": "0",
         "vm.swappiness": "10", "vm.dirty_ratio": "10", "vm.dirty_background_ratio": "5",
         "net.core.rmem_max": "16777216", "net.core.wmem_max": "33554432"}


def reference(tree: Tree) -> Tree:
    """The host of the report, with defaults for what the report lacks."""
    return _plant(tree, offline=(239,), node_cpus=NODE_CPUS, vulnerabilities=cpu.VULNERABLE)


def healthy(tree: Tree) -> Tree:
    """The same host with nothing left to do: all CPUs online, mitigations on, tuned, MaxReadReq 4096, idle."""
    return _plant(tree, node_cpus=("0-63,128-191", "64-127,192-255"), sysctls=TUNED, max_read_request=4096,
                  iommu=True, vulnerabilities=cpu.MITIGATED)


def _plant(tree: Tree, *, node_cpus: tuple[str, str], vulnerabilities: dict[str, str], offline: tuple[int, ...] = (),
           sysctls: dict[str, str] | None = None, max_read_request: int = 512, iommu: bool = False) -> Tree:
    cmdline = PASSED_THROUGH if iommu else CMDLINE
    kernel.plant_kernel(tree, release=RELEASE, build="#20~24.04.1-Ubuntu SMP PREEMPT_DYNAMIC", cmdline=cmdline,
                        hostname="esc8000a", lockdown="none", log=() if iommu else ((0.76, UNKNOWN),))
    kernel.plant_kernel_config(tree, RELEASE)
    boot.plant_grub(tree, RELEASE, "6.8.0-90-generic", normally=" ".join(cmdline.split()[3:]))
    kernel.plant_distribution(tree, id="ubuntu", version_id="24.04", name="Ubuntu 24.04.3 LTS")
    kernel.plant_firmware(tree, bios_version="1104", bios_date="10/23/2025")
    online = cpu.plant_cpus(tree, offline=offline, vulnerabilities=vulnerabilities)
    cpu.plant_frequency(tree, online, driver="amd-pstate-epp", governor="performance", epp="performance",
                        max_khz=5008929, hardware_max_khz=5008929, min_khz=1500000, amd_pstate="active")
    cpu.plant_idle(tree, online)
    cpu.plant_clocksource(tree)
    ras.plant_controllers(tree)
    numa.plant_nodes(tree, node_cpus, memory_kib=773676 << 10, free_kib=770559 << 10)
    memory.plant_memory(tree, total_kib=1584851968, available_kib=1578136576)
    memory.plant_thp(tree)
    memory.plant_swap(tree, "/swap.img                               file\t\t8388604\t\t0\t\t-2")
    plant_sysctls(tree, sysctls)
    managers.plant_ubuntu_24_04(tree, "irqbalance", "nvidia-persistenced")
    network.plant_card(tree, "ens1f0np0", "0000:c1:00.0", speed=100000)
    network.plant_softnet(tree, (81200, 0, 3))
    for number, switch in enumerate(SWITCHES):
        _plant_switch(tree, switch, number // 2, node_cpus[number // 2], max_read_request, iommu)
    bridge = pci.plant_root_port(tree, "0000:50:03.3", device=0x1554, express={"max_speed": 8.0, "speed": 5.0,
                                                                               "max_width": 1, "width": 1})
    pci.plant_bmc_display(tree, "0000:52:00.0", parent=bridge)
    plant_nvidia(tree, version="595.58.03", gpus=[Gpu(address, minor) for address, minor in MINORS.items()])
    return tree


def _plant_switch(tree: Tree, switch: tuple, node: int, cpus: str, max_read_request: int, iommu: bool) -> None:
    root, upstream, bus, gpus = switch
    place = {"numa_node": node, "local_cpulist": cpus}
    pci.plant_root_port(tree, root, **place)
    slots = {slot: f"{bus}:{slot:02x}.0" for slot in gpus}
    pci.plant_switch(tree, upstream, slots.values(), parent=root, **place)
    for slot, address in gpus.items():
        # The downstream port shows the idle link of its GPU, the ports above run at full speed.
        pci.write_config(tree, slots[slot], pci.switch_port_space(speed=2.5))
        pci.plant_gpu(tree, address, parent=slots[slot], express={"max_read_request": max_read_request},
                      interrupts={493 + MINORS[address]: cpus},
                      iommu_group=30 + MINORS[address] if iommu else None, **place)
