# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guest of a hypervisor that passed it two L40S."""
from __future__ import annotations

from hosts.guest_l40s import guest_with_l40s

from . import Expected
from .settings import AUTOGROUP, SOCKETS, sources

HOSTS = (
    Expected(
        guest_with_l40s, {**SOCKETS, **AUTOGROUP}, (),
        sources("rmem_max", "wmem_max"),
        {"pcie_maxreadreq": "left to the hypervisor: vfio passes the write through to the device "
                            "(gpuhost_include: [pcie_maxreadreq] checks it anyway)",
         "iommu_acs": "the target is a virtual machine (qemu)"}),
)
