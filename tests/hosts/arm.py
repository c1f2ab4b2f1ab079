# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arm processors of a planted host: /proc/cpuinfo, topology, ACPI CPPC tables of each core.

    online = plant_arm_cpus(tree, [0xD4F] * 72)
    plant_cppc(tree, online, nominal=331, highest=331)
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from .cpu import CPU, cpu_list, cpu_mask, write_files
from .tree import Tree

NEOVERSE_V2, CORTEX_A725, CORTEX_X925 = 0xD4F, 0xD87, 0xD85
ARM = 0x41      # the implementer, designer of the core; others are in arch/arm64/include/asm/cputype.h
FEATURES = "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm sve sve2 paca pacg"
MITIGATED = {"spectre_v2": "Mitigation: CSV2, BHB", "meltdown": "Not affected",
             "spec_store_bypass": "Mitigation: Speculative Store Bypass disabled via prctl"}


def plant_arm_cpus(tree: Tree, parts: Sequence[int], *, implementer: int = ARM, cores_per_socket: int | None = None,
                   sockets: bool = True) -> list[int]:
    """One core with a single thread for each of `parts`; returns all of them, which are online.

    `sockets=False`: firmware without a table of packages, for which the kernel shows -1.
    """
    total = len(parts)
    everything = cpu_list(range(total))
    tree.files(CPU, {"present": everything, "possible": everything, "online": everything, "offline": "\n",
                     "kernel_max": 511, "isolated": "\n", "smt/control": "notsupported", "smt/active": 0})
    tree.files(f"{CPU}/vulnerabilities", dict(MITIGATED))
    tree.file("/proc/irq/default_smp_affinity", cpu_mask(range(total)))
    tree.file("/proc/cpuinfo", "\n".join(
        f"processor\t: {number}\nBogoMIPS\t: 2000.00\nFeatures\t: {FEATURES}\nCPU implementer\t: {implementer:#04x}\n"
        f"CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: {part:#05x}\nCPU revision\t: 0\n"
        for number, part in enumerate(parts)))
    for number in range(total):
        package = number // (cores_per_socket or total) if sockets else -1
        write_files(tree, f"{CPU}/cpu{number}/topology", {
            "physical_package_id": package, "core_id": number, "thread_siblings_list": number})
    return list(range(total))


def plant_cppc(tree: Tree, cpus: Iterable[int], *, nominal: int, highest: int, lowest: int = 27) -> None:
    """The firmware's performance levels of each core (Documentation/admin-guide/acpi/cppc_sysfs.rst)."""
    for number in cpus:
        write_files(tree, f"{CPU}/cpu{number}/acpi_cppc", {
            "lowest_perf": lowest, "nominal_perf": nominal, "highest_perf": highest})
