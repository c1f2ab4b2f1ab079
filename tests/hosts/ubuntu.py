# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An Ubuntu server as a planted host: kernel, boot loader, distribution, well configured processors, memory."""
from __future__ import annotations

from . import boot, cpu, kernel, managers, memory, network, numa, ras
from .sysctl import plant_sysctls
from .tree import Tree

# Two sockets of two cores each: the purpose of these hosts does not depend on their number.
CORES = 2
NODE_CPUS = ("0-1,4-5", "2-3,6-7")
# The settings of a tuned GPU host, so that only the planted fault is found.
TUNED = {"kernel.numa_balancing": "0", "kernel.nmi_watchdog": "0", "kernel.sched_autogroup_enabled": "0",
         "vm.dirty_ratio": "5", "vm.dirty_background_ratio": "2", "net.core.rmem_max": "16777216",
         "net.core.wmem_max": "16777216", "vm.max_map_count": "1048576"}
NAMES = {"22.04": "Ubuntu 22.04.4 LTS", "24.04": "Ubuntu 24.04.2 LTS"}


def plant_ubuntu(tree: Tree, release: str, version: str, hostname: str, options: str, modules: tuple[str, ...],
                 log: tuple[tuple[float, str], ...] = ()) -> None:
    """Kernel `release` of Ubuntu `version`, started with `options`; `modules` are built for it."""
    kernel.plant_kernel(tree, release=release, build="#129-Ubuntu SMP", hostname=hostname, log=log,
                        cmdline=f"BOOT_IMAGE=/boot/vmlinuz-{release} root=/dev/nvme0n1p2 ro {options}".strip())
    kernel.plant_kernel_config(tree, release)
    kernel.plant_distribution(tree, id="ubuntu", version_id=version, name=NAMES[version])
    boot.plant_grub(tree, release, modules=modules, normally=options)


def plant_memory(tree: Tree, gib: int) -> None:
    """Two nodes with `gib` GiB each, no swap."""
    numa.plant_nodes(tree, NODE_CPUS, memory_kib=gib * numa.GIB, free_kib=gib * numa.GIB * 9 // 10, far=21)
    memory.plant_memory(tree, total_kib=2 * gib * numa.GIB, available_kib=2 * gib * numa.GIB * 9 // 10)
    memory.plant_thp(tree, sizes={})
    memory.plant_swap(tree)


def plant_xeon(tree: Tree) -> None:
    """Two Xeon Platinum 8480C with intel_pstate at its fastest."""
    online = cpu.plant_cpus(tree, cores=CORES, vendor="GenuineIntel", family=6, model=143, stepping=8,
                            model_name="Intel(R) Xeon(R) Platinum 8480C", microcode="0x2b000603", flags=cpu.XEON_FLAGS)
    cpu.plant_frequency(tree, online, driver="intel_pstate", governor="performance", epp="performance", boost=None,
                        intel_pstate="active", no_turbo=0, max_perf_pct=100, max_khz=3800000,
                        hardware_max_khz=3800000, min_khz=800000, hardware_min_khz=800000)
    cpu.plant_idle(tree, online, states=cpu.XEON_STATES, driver="intel_idle")
    _plant_rest(tree, "Intel_i10nm EDAC")


def plant_epyc(tree: Tree) -> None:
    """Two EPYC 9575F with amd-pstate at its fastest."""
    online = cpu.plant_cpus(tree, cores=CORES)
    cpu.plant_frequency(tree, online, driver="amd-pstate-epp", governor="performance", epp="performance",
                        amd_pstate="active", max_khz=5008000, hardware_max_khz=5008000)
    cpu.plant_idle(tree, online)
    _plant_rest(tree, "F1A_M00h")


def plant_grace(tree: Tree) -> None:
    """Two Grace CPUs, which are Arm Neoverse V2."""
    total = 2 * CORES
    tree.files(cpu.CPU, {"present": f"0-{total - 1}", "possible": f"0-{total - 1}", "online": f"0-{total - 1}",
                         "offline": "\n", "kernel_max": 511, "isolated": "\n", "nohz_full": "(null)",
                         "smt/control": "notsupported", "smt/active": 0})
    tree.files(f"{cpu.CPU}/vulnerabilities", {"spectre_v2": "Mitigation: CSV2, BHB", "meltdown": "Not affected"})
    tree.file("/proc/irq/default_smp_affinity", cpu.cpu_mask(range(total)))
    blocks = []
    for number in range(total):
        tree.files(f"{cpu.CPU}/cpu{number}/topology", {"physical_package_id": number // CORES,
                                                       "core_id": number % CORES})
        blocks.append(f"processor\t: {number}\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd evtstrm aes sve sve2\n"
                      "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\n"
                      "CPU revision\t: 0\n\n")
    tree.file("/proc/cpuinfo", "".join(blocks))
    cpu.plant_frequency(tree, range(total), driver="cppc_cpufreq", governor="performance", max_khz=3420000,
                        hardware_max_khz=3420000, min_khz=81000, hardware_min_khz=81000, boost=None)
    cpu.plant_idle(tree, range(total), states=(cpu.IdleState("WFI", "ARM WFI", 1, 1),), driver="acpi_idle")
    cpu.plant_clocksource(tree, current="arch_sys_counter", available="arch_sys_counter ")


def _plant_rest(tree: Tree, controllers: str) -> None:
    cpu.plant_clocksource(tree)
    ras.plant_controllers(tree, 2, name=controllers)


def plant_settings(tree: Tree, version: str, *services: str) -> None:
    """Sysctls of a tuned host, and the named services, running."""
    plant_sysctls(tree, TUNED)
    network.plant_softnet(tree, *[(90000, 0, 0)] * 4)
    (managers.plant_ubuntu_24_04 if version == "24.04" else managers.plant_debian_12)(tree, *services)
