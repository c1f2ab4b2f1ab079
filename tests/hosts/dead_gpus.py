# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A healthy two-socket server with eight GPUs, and the same server with GPUs that fail to initialize.

The lines of the kernel log are real ones of the driver, from NVIDIA/open-gpu-kernel-modules#862 (Blackwell with the
proprietary modules), #789 (GSP firmware does not start), microsoft/pai#4344 (one of eight GPUs), and src/nvidia/arch/
nvalloc/unix/src/osinit.c of the driver.
"""
from __future__ import annotations

import json
from collections.abc import Iterable

from . import boot, cpu, kernel, managers, memory, network, numa, pci, ras
from .nvidia import Gpu, plant_nvidia, smi_xml, version_text
from .sysctl import plant_sysctls
from .tree import Tree

DRIVER = "580.95.05"
RELEASE = "6.8.0-60-generic"
CMDLINE = f"BOOT_IMAGE=/vmlinuz-{RELEASE} root=/dev/nvme0n1p2 ro iommu=pt"
NODE_CPUS = ("0-3,8-11", "4-7,12-15")
# Minor of each GPU; the driver assigns them in probe order.
GPUS = {"0000:06:00.0": 0, "0000:07:00.0": 1, "0000:75:00.0": 2, "0000:76:00.0": 3,
        "0000:84:00.0": 4, "0000:85:00.0": 5, "0000:f4:00.0": 6, "0000:f5:00.0": 7}
LAST = "0000:f5:00.0"
NO_DEVICES = "nvidia-smi ended with status 6: No devices were found"
TIMEOUT = "timeout: nvidia-smi did not end within 20 s"
TUNED = {"kernel.numa_balancing": "0", "kernel.nmi_watchdog": "0", "kernel.sched_autogroup_enabled": "0",
         "vm.swappiness": "10", "vm.dirty_ratio": "10", "vm.dirty_background_ratio": "5",
         "net.core.rmem_max": "16777216", "net.core.wmem_max": "33554432"}


def eight_gpus(tree: Tree, *, minors: dict[str, int] | None = None) -> Tree:
    """Eight RTX PRO 6000, each behind a root port, MaxReadReq 512: every GPU works."""
    kernel.plant_kernel(tree, release=RELEASE, build="#63-Ubuntu SMP PREEMPT_DYNAMIC", hostname="gpu8", cmdline=CMDLINE)
    kernel.plant_kernel_config(tree, RELEASE)
    boot.plant_grub(tree, RELEASE, normally="iommu=pt")
    kernel.plant_distribution(tree, id="ubuntu", version_id="24.04", name="Ubuntu 24.04.2 LTS")
    kernel.plant_firmware(tree)
    online = cpu.plant_cpus(tree, sockets=2, cores=4, vulnerabilities=cpu.MITIGATED,
                            model_name="AMD EPYC 9335 32-Core Processor")
    cpu.plant_frequency(tree, online, driver="amd-pstate-epp", governor="performance", epp="performance",
                        max_khz=4400000, hardware_max_khz=4400000, min_khz=1500000, amd_pstate="active")
    cpu.plant_idle(tree, online)
    cpu.plant_clocksource(tree)
    ras.plant_controllers(tree)
    numa.plant_nodes(tree, NODE_CPUS)
    memory.plant_memory(tree)
    memory.plant_thp(tree)
    memory.plant_swap(tree)
    plant_sysctls(tree, TUNED)
    managers.plant_ubuntu_24_04(tree, "irqbalance", "nvidia-persistenced")
    network.plant_card(tree, "ens1f0np0", "0000:c1:00.0", speed=100000)
    network.plant_softnet(tree, (81200, 0, 3))
    for number, address in enumerate(GPUS):
        node = number // 4
        place = {"numa_node": node, "local_cpulist": NODE_CPUS[node]}
        port = pci.plant_root_port(tree, root_port(address), iommu_group=10 + number, **place)
        pci.plant_gpu(tree, address, parent=port, iommu_group=30 + number,
                      interrupts={200 + number: NODE_CPUS[node]}, **place)
    return plant_nvidia(tree, version=DRIVER, gpus=gpus(minors or GPUS))


def root_port(gpu: str) -> str:
    """The root port of a GPU, which is alone on its bus: `0000:05:01.1` above `0000:06:00.0`."""
    return {"0000:07:00.0": "0000:05:02.1", "0000:76:00.0": "0000:74:02.1", "0000:85:00.0": "0000:83:02.1",
            "0000:f5:00.0": "0000:f3:02.1"}.get(gpu) or f"0000:{int(gpu[5:7], 16) - 1:02x}:01.1"


def gpus(minors: dict[str, int]) -> list[Gpu]:
    return [Gpu(address, minor) for address, minor in minors.items()]


def refuse_nvidia_smi(tree: Tree, words: str) -> Tree:
    """nvidia-smi failed for this reason, in the form of a recording."""
    tree.remove("/recorded/nvidia-smi.xml")
    return tree.file("/recorded/answers.json",
                     json.dumps({"links": {}, "failures": {"/recorded/nvidia-smi.xml": ["unparsable", words]}}))


def without_nvidia_smi(tree: Tree) -> Tree:
    """nvidia-smi is not installed."""
    return tree.remove("/recorded/nvidia-smi.xml")


def answer_for(tree: Tree, *addresses: str) -> Tree:
    """nvidia-smi lists these GPUs only."""
    return tree.program("nvidia-smi.xml", smi_xml([gpu for gpu in gpus(GPUS) if gpu.bdf in addresses], DRIVER))


def log(tree: Tree, lines: Iterable[str], start: float = 100.0) -> Tree:
    """Adds lines to the kernel log, a tenth of a second apart."""
    kernel.add_to_log(tree, *((start + number / 10, line) for number, line in enumerate(lines)))
    return tree


def failed_to_start(address: str, codes: str, *before: str) -> list[str]:
    """The driver's log for each attempt to initialize a GPU: the cause if known, then the failure."""
    return [*before, f"NVRM: GPU {address}: RmInitAdapter failed! ({codes})",
            f"NVRM: GPU {address}: rm_init_adapter failed, device minor number {GPUS[address]}"]


def wrong_flavour(tree: Tree) -> Tree:
    """All GPUs fail: Blackwell with the proprietary modules, which bind to the GPUs and cannot start them."""
    eight_gpus(tree)
    tree.file("/proc/driver/nvidia/version", version_text(DRIVER, "proprietary"))
    for address in GPUS:
        log(tree, failed_to_start(address, "0x22:0x56:884", f"NVRM: The NVIDIA GPU {address} (PCI ID: 10de:2bb5)",
                                  "NVRM: installed in this system requires use of the NVIDIA open kernel modules."),
            100.0 + GPUS[address])
    return refuse_nvidia_smi(tree, NO_DEVICES)


def no_gsp(tree: Tree) -> Tree:
    """All GPUs fail: their firmware does not start."""
    eight_gpus(tree)
    for address in GPUS:
        log(tree, failed_to_start(address, "0x62:0x65:1792",
                                  "NVRM: RmInitAdapter: Cannot initialize GSP firmware RM"), 100.0 + GPUS[address])
    return refuse_nvidia_smi(tree, NO_DEVICES)


def no_answer(tree: Tree) -> Tree:
    """All GPUs fail: nvidia-smi does not end, and the log has a failure of every GPU."""
    eight_gpus(tree)
    for address in GPUS:
        log(tree, failed_to_start(address, "0x26:0xffff:1482"), 100.0 + GPUS[address])
    return refuse_nvidia_smi(tree, TIMEOUT)


def one_dead(tree: Tree) -> Tree:
    """Seven of eight work; the firmware of the last one was left running by its previous driver."""
    eight_gpus(tree)
    log(tree, failed_to_start(LAST, "0x62:0x40:2119",
                              "NVRM: GPU7 _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP",
                              "NVRM: GPU7 RmInitAdapter: Cannot initialize GSP firmware RM"))
    return answer_for(tree, *(address for address in GPUS if address != LAST))
