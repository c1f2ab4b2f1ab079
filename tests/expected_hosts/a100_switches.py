# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Eight A100 behind four switches: in MIG mode, whole, and with a network card behind every switch."""
from __future__ import annotations

from hosts.a100_switches import CARDS, a100_in_mig_mode, a100_whole, a100_with_nics

from . import Expected
from .settings import AUTOGROUP, DIRTY, MAP_COUNT, READ_REQUEST, SOCKETS, sources

COMMON = {**DIRTY, **SOCKETS, **AUTOGROUP, **MAP_COUNT, "pcie_maxreadreq": {CARDS: READ_REQUEST},
          "cstate_latency": {("state3",): "fail info: false -> true"}}
SETTINGS = sources("dirty_ratio", "dirty_background_ratio", "rmem_max", "wmem_max", "pcie_maxreadreq")

HOSTS = (
    # Instances of a GPU in MIG mode reach no other GPU, so nothing between them can be wrong.
    Expected(a100_in_mig_mode, COMMON, (), SETTINGS,
             {"iommu_acs": "GPUs in MIG mode have no peer-to-peer"}),
    Expected(a100_whole, {**COMMON, "iommu_acs": "fail P0: translated and redirected -> direct"},
             ("iommu_acs",),
             {**SETTINGS, "iommu_acs": "NVIDIA, CUDA C++ Programming Guide: IOMMU on Linux"}),
    # A network card reaches a GPU in MIG mode all the same.
    Expected(
        a100_with_nics,
        {**COMMON, "gpu_nic_path": "fail P1: translated and redirected -> direct",
         "nvidia_peermem": "fail P1: false -> true"},
        ("nvidia_peermem", "gpu_nic_path"),
        {**SETTINGS,
         "gpu_nic_path": "NVIDIA, GPUDirect RDMA: Supported Systems, IOMMUs; GPUDirect Storage Best Practices: ACS",
         "nvidia_peermem": "NVIDIA, GPUDirect RDMA: nvidia-peermem (proprietary modules: no DMA-BUF)"},
        {"iommu_acs": "GPUs in MIG mode have no peer-to-peer"}),
)
