# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The facts' section `placement`: what there is to be placed on, and what is placed there."""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import Reading
from .._pve.guests import Configs
from . import topology
from .guests import read_guests
from .processes import read_processes


def read(host: Host, configs: Configs, guests: dict, nodes: list[dict], cpuinfo: Reading, users: Reading) -> dict:
    """`{cores, l3, features, guests, processes}`.

    `guests` and `nodes` are the facts `guests` and `numa.nodes`; `configs`, `cpuinfo` and `users` what was read for
    them: read_all_configs(), read_cpuinfo(), read_users().
    """
    return {**topology.read(host, nodes, cpuinfo), "guests": read_guests(host, configs, guests),
            "processes": read_processes(host, users, guests)}
