# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host of the story after it was tuned and then rebooted into a newer kernel for amd-pstate.

Kernel 6.14.11-4-pve, another boot ID. Runtime settings have their defaults again, and MaxReadReq is 512. amd-pstate is
active. nvidia-uvm has another major: container 101, which allows 509 by number, has lost CUDA although nvidia-smi works
in it; 102 gets its nodes through devN and works.
"""
from __future__ import annotations

from . import boot, cpu, kernel
from .story_before import plant_node, plant_processors
from .tree import Tree

RELEASE = "6.14.11-4-pve"
BOOT_ID = "c4a9e6d0-1f7e-4b0a-8f35-7d2b90e4a6c8"
UVM_MAJOR = 511


def story_after_reboot(tree: Tree, *, cores: int = 32) -> Tree:
    cmdline = f"BOOT_IMAGE=/boot/vmlinuz-{RELEASE} root=/dev/mapper/pve-root ro quiet amd_pstate=active"
    kernel.plant_kernel(tree, release=RELEASE, build="#1 SMP PREEMPT_DYNAMIC PMX 6.14.11-4 (2025-10-10T08:04Z)",
                        cmdline=cmdline, boot_id=BOOT_ID)
    kernel.plant_kernel_config(tree, RELEASE)
    boot.plant_grub(tree, RELEASE, kernel.RELEASE, normally="quiet amd_pstate=active")
    # Proxmox kernels have the default governor performance, and the driver then sets the preference accordingly.
    cpu.plant_frequency(tree, plant_processors(tree, cores), driver="amd-pstate-epp", governor="performance",
                        epp="performance", amd_pstate="active", policy_boost=1, max_khz=4400000,
                        hardware_max_khz=4400000)
    plant_node(tree, UVM_MAJOR)
    return tree
