# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""DGX Spark as it is delivered: nothing is wrong with it, some sysctls are the kernel's own."""
from __future__ import annotations

from hosts.dgx_spark import PORTS, dgx_spark

from . import Expected
from .settings import AUTOGROUP, SOCKETS, sources

NAMES = tuple(f"nic:{name}" for name in PORTS)

HOSTS = (
    Expected(
        dgx_spark,
        {"swappiness": "fail P2: 60 -> at_most 10, planned", **SOCKETS, **AUTOGROUP,
         "rdma_maxreadreq": {NAMES: "fail P2: 512 -> at_least 4096"}},
        ("swappiness", "rdma_maxreadreq"),
        {**sources("rmem_max", "wmem_max"),
         "swappiness": "Linux, Documentation/admin-guide/sysctl/vm.rst: swappiness, with a swap file in use",
         "rdma_maxreadreq": "NVIDIA (Mellanox), Understanding PCIe Configuration for Maximum Performance: PCIe Max "
                            "Read Request"},
        {"cpu_boost": "no core can boost more than 5 percent above its nominal clock (acpi_cppc): there is nothing to "
                      "gain"}),
)
