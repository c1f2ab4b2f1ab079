# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What somebody who knows these machines would do first on each planted host, and in which order: at most three
things, written down from what the host is, before any report was made of it. An empty list: nothing that is worth
doing first, what a report still lists there is cosmetic."""
from __future__ import annotations

from hosts.crowded import crowded
from hosts.instinct import instinct
from hosts.others import container, container_with_gpus, intel_server, virtual_machine, workstation
from hosts.reference import healthy, reference
from hosts.sick import sick
from hosts.story_after_reboot import story_after_reboot
from hosts.story_before import story_before

FIRST_THREE = {
    # Collectives may hang: that before anything else. Then a sysctl that acts at once, and only then the frequency
    # driver, for which the host has to be rebooted.
    story_before: ["P0 iommu_acs", "P1 numa_balancing", "P2 cpu_scaling_driver"],
    # A container computes nothing, and three lines in its configuration bring it back without a reboot of the host.
    story_after_reboot: ["P0 lxc_gpu_access", "P0 iommu_acs", "P1 numa_balancing"],
    # Nothing is broken. A sysctl before a reboot for one CPU of 256, then the swap file.
    reference: ["P1 numa_balancing", "P1 iommu_many_cpus", "P2 swappiness"],
    # Twenty containers compute nothing.
    crowded: ["P0 lxc_gpu_access", "P1 numa_balancing", "P1 iommu_many_cpus"],
    # Data is at risk on the whole host, then one container does not start; single GPUs come after that.
    sick: ["P0 memory_uncorrectable", "P0 hardware_errors", "P0 nvidia_device_nodes"],
    healthy: [],
    workstation: [],
    instinct: [],
    intel_server: [],
    virtual_machine: [],
    # They can change nothing; their hosts are to be audited.
    container: [],
    container_with_gpus: [],
}
