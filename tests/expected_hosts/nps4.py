# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Four NUMA nodes on one socket: tuned, and nothing across sockets, for there is one."""
from __future__ import annotations

from hosts.nps4 import nps4_on_one_socket

from . import Expected

HOSTS = (
    Expected(nps4_on_one_socket,
             {"numa_nodes_per_socket": "fail info: 4 -> at_most 1",
              "cstate_latency": {("state2",): "fail info: false -> true"}},
             ()),
)
