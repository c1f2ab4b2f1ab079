# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""RDMA devices: /sys/class/infiniband (Documentation/ABI/stable/sysfs-class-infiniband)."""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import ABSENT, Reading, settle
from .address import DEVICES, kernel_address, upstream_path
from .device import acs_of, express_of, read_config
from .sysfs import read_id, read_iommu

_FOLDER = "/sys/class/infiniband"
_NO_DEVICE = Reading(ABSENT, None, "it has no PCI device")


def read(host: Host) -> dict:
    """Read the facts' section `rdma`: a device with `bdf` None is implemented in software (rxe, siw)."""
    known_power: dict[str, dict] = {}
    return settle({"devices": lambda: [_device(host, name, known_power) for name in host.list(_FOLDER)]})


def _device(host: Host, name: str, known_power: dict[str, dict]) -> dict:
    """Read a device with the PCI Express registers of itself and of the port above, without waking either."""
    parent = host.link_name(f"{_FOLDER}/{name}/device")
    bdf = kernel_address(parent) if parent else None
    above = upstream_path(host, bdf) if bdf else []
    configs = [read_config(host, port, known_power) for port in above]
    return {
        "name": name,
        "bdf": bdf,
        "node_type": parse_node_type(host.read(f"{_FOLDER}/{name}/node_type").value or ""),
        "vendor": read_id(host, bdf, "vendor") if bdf else None,
        "model": read_id(host, bdf, "device") if bdf else None,
        "ports": [_port(host, f"{_FOLDER}/{name}/ports/{port}", port) for port in host.list(f"{_FOLDER}/{name}/ports")],
        "netdevs": host.list(f"{DEVICES}/{bdf}/net") if bdf else [],
        "virtual_function": bool(bdf) and host.link_name(f"{DEVICES}/{bdf}/physfn") is not None,
        "pcie": express_of(read_config(host, bdf, known_power)) if bdf else _NO_DEVICE,
        "port": express_of(configs[0]) if above else _NO_DEVICE,
        "above": [{"bdf": port, "acs": acs_of(config)} for port, config in zip(above, configs)],
        "iommu_type": read_iommu(host, bdf)[1] if bdf else _NO_DEVICE,
    }


def _port(host: Host, folder: str, port: str) -> dict:
    """Read a port: link layer InfiniBand, or Ethernet for RoCE; state as `4: ACTIVE`, rate as `100 Gb/sec (4X EDR)`.

    phys_state is that of the physical link: `5: LinkUp`, `2: Polling` without a peer, `3: Disabled` if switched off.
    """
    return {"port": port, **host.read_attributes(folder, ("link_layer", "state", "phys_state", "rate"))}


def parse_node_type(text: str) -> str | None:
    """Return `CA` for `1: CA`."""
    return text.partition(":")[2].strip() or None
