# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server with EPYC 7001 and V100 that its owner tuned: nothing that is left is a fault."""
from __future__ import annotations

from hosts.epyc_7001 import epyc_7001

from . import Expected
from .settings import AUTOGROUP, MAP_COUNT

HOSTS = (
    Expected(
        epyc_7001,
        {**AUTOGROUP, **MAP_COUNT, "cstate_latency": {("state2",): "fail info: false -> true"}},
        (), {},
        {"cpu_scaling_driver": "AMD family 17h model 1h has no CPPC: its driver is acpi-cpufreq",
         "numa_nodes_per_socket": "each die of this processor has its own memory controller"}),
)
