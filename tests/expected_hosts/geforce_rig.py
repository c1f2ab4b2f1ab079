# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Four GeForce RTX 4090 with and without registry keys for transfers between them."""
from __future__ import annotations

from hosts.geforce_rig import CARDS, geforce_passed_through, geforce_proprietary, geforce_stock, geforce_with_peer_keys

from . import Expected
from .settings import AUTOGROUP, DIRTY, MAP_COUNT, NMI_WATCHDOG, READ_REQUEST, SOCKETS, sources

COMMON = {
    **NMI_WATCHDOG, **DIRTY, **SOCKETS, **AUTOGROUP, **MAP_COUNT,
    "pcie_maxreadreq": {CARDS: READ_REQUEST},
    "cpu_scaling_driver": "fail P2: acpi-cpufreq -> not_equals acpi-cpufreq",
    "cstate_latency": {("state2",): "fail info: false -> true"},
}
SETTINGS = {
    **sources("nmi_watchdog", "dirty_ratio", "dirty_background_ratio", "rmem_max", "wmem_max", "pcie_maxreadreq"),
    "cpu_scaling_driver": "Linux, Documentation/admin-guide/pm/amd-pstate.rst; an EPYC 7003 has CPPC",
}
KEYS = ('fail P2: ["ForceP2P=0x11 overrides the driver\'s detection of peer-to-peer support", '
        '"RMForceP2PType=1 overrides the driver\'s detection of peer-to-peer support", '
        '"RMPcieP2PType=2 overrides the driver\'s detection of peer-to-peer support"] '
        '-> empty true')

HOSTS = (
    Expected(
        geforce_with_peer_keys,
        {**COMMON, "iommu_acs": "fail P0: translated and redirected -> direct", "nvidia_registry_keys": KEYS},
        ("iommu_acs", "cpu_scaling_driver", "nvidia_registry_keys"),
        {**SETTINGS,
         "iommu_acs": "NVIDIA, CUDA C++ Programming Guide: IOMMU on Linux (silent device memory corruption)",
         "nvidia_registry_keys": "NVIDIA, open-gpu-kernel-modules, nvrm_registry.h: ForceP2P"}),
    # Nobody can tell patched modules from stock ones: what would be wrong with them is unknown, and how to ask is said.
    Expected(geforce_stock, {**COMMON, "iommu_acs": "unknown P2"},
             ("cpu_scaling_driver",), SETTINGS),
    Expected(geforce_proprietary, COMMON, ("cpu_scaling_driver",), SETTINGS,
             {"iommu_acs": "NVIDIA's modules do not support peer-to-peer between GeForce RTX cards"}),
    Expected(geforce_passed_through, COMMON, ("cpu_scaling_driver",), SETTINGS),
)
