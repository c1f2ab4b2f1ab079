# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""RDMA devices: /sys/class/infiniband (Documentation/ABI/stable/sysfs-class-infiniband)."""
from __future__ import annotations

from ._host import Host
from ._pci_address import kernel_address

_FOLDER = "/sys/class/infiniband"


def read(host: Host) -> dict:
    """The `rdma` section: `{devices: [{name, bdf, node_type}]}`; `bdf` is None for one without hardware (rxe, siw)."""
    return {"devices": [_device(host, name) for name in host.list(_FOLDER)]}


def _device(host: Host, name: str) -> dict:
    parent = host.link_name(f"{_FOLDER}/{name}/device")
    return {"name": name, "bdf": kernel_address(parent) if parent else None,
            "node_type": parse_node_type(host.read(f"{_FOLDER}/{name}/node_type").value or "")}


def parse_node_type(text: str) -> str | None:
    """`CA` of the file's `1: CA`."""
    return text.partition(":")[2].strip() or None
