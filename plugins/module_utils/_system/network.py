# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Network cards, and packets dropped from the CPUs' backlog queues."""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import known
from .._pci.sysfs import read_driver

_NET = "/sys/class/net"
_ADDRESS = re.compile(r"/([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7])(?=/)")


def read(host: Host) -> dict:
    """Read the facts' section `network`."""
    return {
        "interfaces": known(lambda: [read_interface(host, name, link)
                                     for name, link in sorted((host.read_links(_NET).value or {}).items())
                                     if "/virtual/" not in link]),
        "backlog": host.read("/proc/net/softnet_stat").map(parse_softnet),
    }


def read_interface(host: Host, name: str, link: str) -> dict:
    """Read a card by the link of its name; virtual interfaces, below devices/virtual, are left out.

    Documentation/ABI/testing/sysfs-class-net. Speed in Mbit/s, -1 if unknown; carrier, speed and duplex of an interface
    that is down cannot be read (EINVAL). Rings, coalescing and offloads have no files: they need ethtool.
    """
    folder = f"{_NET}/{name}"
    read = host.read_attributes(folder, ("operstate", "carrier", "speed", "duplex", "mtu"))
    addresses = [] if "/usb" in link else _ADDRESS.findall(link)      # on USB it would be the controller's
    return {
        "name": name,
        "bdf": addresses[-1] if addresses else None,
        "driver": known(lambda: read_driver(host, addresses[-1])) if addresses else None,
        "operstate": read["operstate"],
        "carrier": read["carrier"].map(int),
        "speed_mbps": read["speed"].map(int),
        "duplex": read["duplex"],
        "mtu": read["mtu"].map(int),
        "numa_node": host.read_int(f"{folder}/device/numa_node"),
    }


def parse_softnet(text: str) -> dict[str, int]:
    """Sum /proc/net/softnet_stat over all CPUs (softnet_seq_show() in net/core/net-procfs.c), hexadecimal.

    Dropped: the CPU's backlog was full (net.core.netdev_max_backlog). Squeezed: the budget of one poll ran out.
    """
    rows = [[int(column, 16) for column in line.split()[:3]] for line in text.splitlines()]
    if not rows or any(len(row) < 3 for row in rows):
        raise ValueError("not the columns of softnet_stat")
    return dict(zip(("received", "dropped", "squeezed"), map(sum, zip(*rows))))
