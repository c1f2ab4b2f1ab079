# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The story's node with a container whose device nodes were made in another boot; `fails` is about the container.

What else fails is the story's, and `first` begins with what is broken now: the container before settings.
"""
from __future__ import annotations

from hosts.other_boot import other_boot, this_boot

from . import Expected

FAR = ", ".join(f'"0000:{bus}:00.0 is at node1 (32-63,96-127)"' for bus in ("41", "61", "71", "81"))
# It may use all GPUs and is bound to the CPUs of one node; its rule for nvidia-uvm is a number.
COMMON = {
    "guest_cpus": f"fail P2: [{FAR}] -> empty true",
    "lxc_survives_reboot": 'fail info: ["c 509:* rwm is nvidia-uvm only until the next boot"] -> empty true',
}

OF_A_CONTAINER = (
    Expected(other_boot,
             {**COMMON,
              "container_nodes": 'fail P0: ["/dev/nvidia-uvm is 508:0 in it, 509:0 on the host"] -> empty true'},
             ("container_nodes", "iommu_acs", "numa_balancing")),
    Expected(this_boot, COMMON, ("iommu_acs", "numa_balancing", "guest_cpus")),
)
