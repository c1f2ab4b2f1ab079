# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs on NVSwitches whose fabric is up or is not, and eight MI300X without and with errors in the log."""
from __future__ import annotations

from hosts.hgx import B200, H100, hgx_b200, hgx_b200_without_nvlsm, hgx_h100, hgx_h100_without_fabric_manager
from hosts.instinct import EIGHT, eight_instincts, eight_instincts_with_errors
from hosts.nvl72 import GB200, gb200, gb200_without_fabric

from . import Expected
from .settings import AUTOGROUP, DIRTY, MAP_COUNT, NMI_WATCHDOG, SOCKETS, sources

FABRIC_MANAGER, NVLSM, IMEX = ("service:nvidia-fabricmanager",), ("service:nvlsm",), ("service:nvidia-imex",)
BALANCING = {"numa_balancing": "fail P1: 1 -> 0, planned"}
C6, C2 = ({"cstate_latency": {(state,): "fail info: false -> true"}} for state in ("state3", "state2"))
NOT_ENABLED = "not enabled: it will not start at the next boot"
WAITS = 'fail P0: ["state In Progress"] -> empty true'
# Nobody counts memory errors on a tray or on a node whose memory controllers no driver knows.
NO_EDAC = {"memory_uncorrectable": "unknown P0", "memory_correctable": "unknown P2"}

GUIDE = "NVIDIA, Fabric Manager for NVIDIA NVSwitch Systems: CUDA_ERROR_SYSTEM_NOT_READY"
RAS, RESET = ("Linux, drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c", "Linux, drivers/gpu/drm/amd/amdgpu/amdgpu_device.c")
STOCK = {**NMI_WATCHDOG, **DIRTY, **SOCKETS, **AUTOGROUP, **MAP_COUNT}
STOCK_SOURCES = sources("nmi_watchdog", "dirty_ratio", "dirty_background_ratio", "rmem_max", "wmem_max")

HOSTS = (
    Expected(hgx_h100, C6, ()),
    Expected(
        hgx_h100_without_fabric_manager,
        {"nvidia_fabric_services": {FABRIC_MANAGER: f'fail P0: ["not running", "{NOT_ENABLED}"] -> empty true'},
         "nvidia_fabric": {H100: WAITS}, **BALANCING, **C6},
        ("nvidia_fabric_services", "nvidia_fabric", "numa_balancing"),
        {"nvidia_fabric_services": GUIDE, "nvidia_fabric": GUIDE, **sources("numa_balancing")}),
    Expected(hgx_b200, C2, (),
             not_applicable={"nvidia_peermem": "kernel 6.8.0-60-generic and the open modules register GPU memory with "
                                               "DMA-BUF, which NVIDIA recommends over nvidia_peermem"}),
    Expected(
        hgx_b200_without_nvlsm,
        {"nvidia_fabric_services": {FABRIC_MANAGER: 'fail P0: ["not running"] -> empty true',
                                    NVLSM: 'fail P0: ["not installed"] -> empty true'},
         "nvidia_fabric": {B200: WAITS}, **C2},
        ("nvidia_fabric_services", "nvidia_fabric"),
        {"nvidia_fabric_services": GUIDE, "nvidia_fabric": GUIDE}),
    Expected(gb200, NO_EDAC, ()),
    # A tray starts no fabric manager: its daemon is nvidia-imex, without which the tray itself works.
    Expected(
        gb200_without_fabric,
        {"nvidia_fabric": {GB200: 'fail P0: ["state Not Started"] -> empty true'},
         "nvidia_fabric_services": {IMEX: f'fail P1: ["not running", "{NOT_ENABLED}"] -> empty true'},
         **BALANCING, **NO_EDAC},
        ("nvidia_fabric", "nvidia_fabric_services", "numa_balancing"),
        {"nvidia_fabric": "NVIDIA, NVML API Reference: NVML_GPU_FABRIC_STATE_NOT_STARTED",
         "nvidia_fabric_services": "NVIDIA, IMEX Service for NVLink Networks", **sources("numa_balancing")}),
    Expected(eight_instincts, {**STOCK, **NO_EDAC, "cstate_latency": {("state2",): "fail info: false -> true"},
                               "netdev_max_backlog": "unknown P2"},
             (), STOCK_SOURCES),
    Expected(
        eight_instincts_with_errors,
        {"amdgpu_errors": {
            (EIGHT[2],): 'fail P0: ["uncorrectable errors of memory or a cache, 2 times: amdgpu '
                         f'{EIGHT[2]}: amdgpu: socket: 2, die: 0 1 new uncorrectable hardware errors detected in umc '
                         'block"] -> empty true',
            (EIGHT[5],): f'fail P0: ["it was reset because it hung, once: amdgpu {EIGHT[5]}: amdgpu: GPU reset begin!. '
                         'Source:  4"] -> empty true'},
         **STOCK, **NO_EDAC, "cstate_latency": {("state2",): "fail info: false -> true"},
         "netdev_max_backlog": "unknown P2"},
        ("amdgpu_errors",), {**STOCK_SOURCES, "amdgpu_errors": f"{RAS}; {RESET}"}),
)
