# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers whose GPUs do not come up: what broke is P0, nothing is written to a dead GPU, the rest stays as it was."""
from __future__ import annotations

from hosts.dead_gpus import GPUS, LAST, eight_gpus, no_answer, no_gsp, one_dead, wrong_flavour

from . import Expected
from .settings import READ_REQUEST, sources

ALL = tuple(GPUS)
UP = tuple(address for address in GPUS if address != LAST)
IDLE = {"cstate_latency": {("state2",): "fail info: false -> true"}}
SETTINGS = sources("pcie_maxreadreq")
LEFT_ALONE = READ_REQUEST.removesuffix(", planned")
NO_ANSWER = {"nvidia_persistence": "unknown P1", "nvidia_power_limit": "unknown P2", "nvidia_slowdown": "unknown P1",
             "nvidia_memory_errors": "unknown P1", "nvidia_pending_modes": "unknown P1",
             "nvidia_compute_mode": "unknown P2", "nvidia_recovery": "unknown P0"}


def unanswered(*addresses: str) -> dict:
    return {check: {addresses: line} for check, line in NO_ANSWER.items()}


def said(*sentences: str) -> str:
    return "fail P0: [" + ", ".join(f'"{sentence}"' for sentence in sentences) + "] -> empty true"


def all_of(words: str) -> str:
    return said(f"8 GPUs ({', '.join(ALL)}) are bound to the driver but not usable: {words}")


STATUS_6 = "nvidia-smi ended with status 6: No devices were found; the kernel log says: "
FIRST = ALL[0]

HOSTS = (
    Expected(eight_gpus, {"pcie_maxreadreq": {ALL: READ_REQUEST}, **IDLE}, (),
             SETTINGS),
    Expected(
        wrong_flavour,
        {"nvidia_gpu_count": all_of(
            f"{STATUS_6}NVRM: The NVIDIA GPU {FIRST} (PCI ID: 10de:2bb5) / NVRM: installed in this system requires use "
            f"of the NVIDIA open kernel modules. / NVRM: GPU {FIRST}: RmInitAdapter failed! (0x22:0x56:884)"),
         "nvidia_flavour": {ALL: 'fail P0: proprietary -> one_of ["open"]'},
         "pcie_maxreadreq": {ALL: LEFT_ALONE}, **unanswered(*ALL), **IDLE},
        ("nvidia_flavour", "nvidia_gpu_count"),
        {**SETTINGS, "nvidia_gpu_count": "NVIDIA/open-gpu-kernel-modules#862",
         "nvidia_flavour": "NVIDIA/open-gpu-kernel-modules#862"}),
    Expected(
        no_gsp,
        {"nvidia_gpu_count": all_of(f"{STATUS_6}NVRM: RmInitAdapter: Cannot initialize GSP firmware RM / "
                                    f"NVRM: GPU {FIRST}: RmInitAdapter failed! (0x62:0x65:1792)"),
         "pcie_maxreadreq": {ALL: LEFT_ALONE}, **unanswered(*ALL), **IDLE},
        ("nvidia_gpu_count",),
        {**SETTINGS, "nvidia_gpu_count": "NVIDIA/open-gpu-kernel-modules#789"}),
    Expected(
        no_answer,
        {"nvidia_gpu_count": all_of("timeout: nvidia-smi did not end within 20 s; the kernel log says: "
                                    f"NVRM: GPU {FIRST}: RmInitAdapter failed! (0x26:0xffff:1482)"),
         "pcie_maxreadreq": {ALL: LEFT_ALONE}, **unanswered(*ALL), **IDLE},
        ("nvidia_gpu_count",),
        {**SETTINGS, "nvidia_gpu_count": "NVIDIA/dcgm-exporter#604"}),
    Expected(
        one_dead,
        {"nvidia_gpu_count": said(
            f"{LAST} is bound to the driver but missing in nvidia-smi; the kernel log says: NVRM: GPU7 _kgspBootGspRm: "
            "unexpected WPR2 already up, cannot proceed with booting GSP / NVRM: GPU7 RmInitAdapter: Cannot initialize "
            f"GSP firmware RM / NVRM: GPU {LAST}: RmInitAdapter failed! (0x62:0x40:2119)"),
         "pcie_maxreadreq": {UP: READ_REQUEST, (LAST,): LEFT_ALONE}, **unanswered(LAST), **IDLE},
        ("nvidia_gpu_count",),
        {**SETTINGS, "nvidia_gpu_count": "microsoft/pai#4344"}),
)
