# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Grace Hopper. Its owner set it up as NVIDIA's guides say; as it was installed, three things are wrong with it."""
from __future__ import annotations

from hosts.grace_hopper import GPU, grace_hopper, grace_hopper_as_installed

from . import Expected
from .settings import AUTOGROUP, DIRTY, MAP_COUNT, SOCKETS, sources

POLICIES = tuple(f"policy{number}" for number in range(72))
GUIDE = "NVIDIA, Grace CPU Benchmarking Guide, Platform Configuration"

HOSTS = (
    Expected(grace_hopper, {}, ()),
    Expected(
        grace_hopper_as_installed,
        {"cpu_governor": {POLICIES: "fail P1: ondemand -> performance, planned"},
         "numa_balancing": "fail P1: 1 -> 0, planned",
         "nvidia_flavour": {(GPU,): 'fail P1: proprietary -> one_of ["open"]'},
         "swappiness": "fail P2: 60 -> at_most 10, planned", **DIRTY, **SOCKETS, **AUTOGROUP, **MAP_COUNT},
        ("cpu_governor", "numa_balancing", "nvidia_flavour"),
        {**sources("dirty_ratio", "dirty_background_ratio", "rmem_max", "wmem_max"),
         "cpu_governor": f"{GUIDE}: the performance governor", "numa_balancing": f"{GUIDE}: numa_balancing=disable",
         "nvidia_flavour": "NVIDIA, developer blog, 2024-07-17: Grace Hopper must use the open modules, the "
                           "proprietary ones are unsupported there",
         "swappiness": "Linux, Documentation/admin-guide/sysctl/vm.rst: swappiness, with a swap file in use"}),
)
