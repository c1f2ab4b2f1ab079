# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The facts' section `placement`: CPUs and caches of the host, and what is placed on them."""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import ABSENT, Reading
from .._pve.guests import Configs
from . import topology
from .guests import read_guests
from .processes import read_processes

VM, CONTAINER = "vm", "container"       # of the facts `identity.kind`
_UUID = "/sys/class/dmi/id/product_uuid"
_NET = "/sys/class/net"
_ADDRESS = re.compile(r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}")
_MOST_INTERFACES = 64


def read(host: Host, configs: Configs, guests: dict, nodes: list[dict], cpuinfo: Reading, users: Reading,
         kind: str) -> dict:
    """`{own, cores, l3, features, guests, processes}`; `kind` is that of the facts `identity`.

    `guests` and `nodes` are the facts `guests` and `numa.nodes`; `configs`, `cpuinfo` and `users` are from
    read_all_configs(), read_cpuinfo() and read_users().
    """
    return {"own": read_own(host, kind), **topology.read(host, nodes, cpuinfo),
            "guests": read_guests(host, configs, guests), "processes": read_processes(host, users, guests)}


def read_own(host: Host, kind: str) -> dict:
    """`{uuid, addresses}` that identify this guest on its own host; nothing if this machine is not a guest."""
    uuid = host.read(_UUID).map(lambda text: text.strip().lower()) if kind == VM else Reading(ABSENT, None, "no VM")
    names = host.list(_NET) if kind == CONTAINER else []
    addresses = (host.read(f"{_NET}/{name}/address").value or "" for name in names[:_MOST_INTERFACES] if name != "lo")
    return {"uuid": uuid, "addresses": [address.lower() for address in addresses if _ADDRESS.fullmatch(address)]}
