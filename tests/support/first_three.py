# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an expert on these machines would do first on each planted host, at most three things in order, written from the
hosts before any report existed. An empty list: nothing is worth doing first, and what a report lists is cosmetic.
"""
from __future__ import annotations

from hosts.crowded import crowded
from hosts.instinct import instinct
from hosts.others import container, container_with_gpus, intel_server, virtual_machine, workstation
from hosts.reference import healthy, reference
from hosts.sick import sick
from hosts.story_after_reboot import story_after_reboot
from hosts.story_before import story_before

FIRST_THREE = {
    # Collectives may hang: this comes first. Then a sysctl that takes effect at once, and only then the frequency
    # driver, which requires a reboot of the host.
    story_before: ["P0 iommu_acs", "P1 numa_balancing", "P2 cpu_scaling_driver"],
    # A container cannot compute, and three lines in its configuration fix that without a reboot of the host.
    story_after_reboot: ["P0 lxc_gpu_access", "P0 iommu_acs", "P1 numa_balancing"],
    # Nothing is broken. A sysctl before a reboot for one of 256 CPUs, then the swap file.
    reference: ["P1 numa_balancing", "P1 iommu_many_cpus", "P2 swappiness"],
    # Twenty containers cannot compute.
    crowded: ["P0 lxc_gpu_access", "P1 numa_balancing", "P1 iommu_many_cpus"],
    # Data is at risk on the whole host, then one container does not start; problems of single GPUs follow.
    sick: ["P0 memory_uncorrectable", "P0 hardware_errors", "P0 nvidia_device_nodes"],
    healthy: [],
    workstation: [],
    instinct: [],
    intel_server: [],
    virtual_machine: [],
    # Nothing can be changed inside a container; its host needs the audit.
    container: [],
    container_with_gpus: [],
}
