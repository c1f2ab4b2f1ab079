# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network cards of a planted host."""
from __future__ import annotations

from .pci import DEVICES, plant_device
from .tree import Tree

NET = "/sys/class/net"


def plant_card(tree: Tree, name: str, address: str, *, driver: str = "bnxt_en", parent: str | None = None,
               speed: int = 25000, duplex: str = "full", mtu: int = 1500, numa_node: int = 0) -> str:
    """A PCI network card with a link; returns its address."""
    plant_device(tree, address, parent=parent, vendor=0x14E4, device=0x16D7, class_=0x020000, driver=driver,
                 numa_node=numa_node)
    folder = f"/{tree.path(f'{DEVICES}/{address}').resolve().relative_to(tree.root.resolve())}/net/{name}"
    tree.files(folder, {"operstate": "up", "carrier": 1, "speed": speed, "duplex": duplex, "mtu": mtu})
    tree.link(f"{folder}/device", f"../../../{address}")
    tree.link(f"{NET}/{name}", f"../..{folder.removeprefix('/sys')}")
    return address


def plant_interface(tree: Tree, name: str, address: str, *, speed: int = 400000) -> None:
    """The network interface of a planted PCI function, up and with a link."""
    folder = f"/{tree.path(f'{DEVICES}/{address}').resolve().relative_to(tree.root.resolve())}/net/{name}"
    tree.files(folder, {"operstate": "up", "carrier": 1, "speed": speed, "duplex": "full", "mtu": 2044})
    tree.link(f"{folder}/device", f"../../../{address}")
    tree.link(f"{NET}/{name}", f"../..{folder.removeprefix('/sys')}")


def plant_software(tree: Tree, *names: str) -> None:
    """Interfaces without a device: bridges, veth, lo."""
    for name in names:
        tree.file(f"/sys/devices/virtual/net/{name}/operstate", "unknown")
        tree.link(f"{NET}/{name}", f"../../devices/virtual/net/{name}")


def plant_softnet(tree: Tree, *rows: tuple[int, int, int]) -> None:
    """/proc/net/softnet_stat: packets received, dropped, rounds cut short, for each CPU."""
    tree.file("/proc/net/softnet_stat", "".join(
        " ".join(f"{number:08x}" for number in (*row, *([0] * 12))) + "\n" for row in rows))


# States of a port without a cable, and of a disabled one (enum ib_port_phys_state, ib_verbs.h).
NO_CABLE = {"state": "1: DOWN", "physical": "2: Polling", "rate": "10 Gb/sec (4X SDR)"}
SWITCHED_OFF = {"state": "1: DOWN", "physical": "3: Disabled", "rate": "40 Gb/sec (4X QDR)"}


def plant_rdma(tree: Tree, name: str, address: str, *, link_layer: str = "InfiniBand", state: str = "4: ACTIVE",
               physical: str | None = "5: LinkUp", rate: str = "100 Gb/sec (4X EDR)", model: str | None = None) -> None:
    """An RDMA device with one port on a planted PCI function; `model` is in the form of mlx5 cards."""
    folder = f"/{tree.path(f'{DEVICES}/{address}').resolve().relative_to(tree.root.resolve())}/infiniband/{name}"
    tree.file(f"{folder}/node_type", "1: CA").link(f"{folder}/device", f"../../../{address}")
    if model:
        tree.file(f"{folder}/hca_type", model)
    port = {"link_layer": link_layer, "state": state, "phys_state": physical, "rate": rate}
    tree.files(f"{folder}/ports/1", {name: text for name, text in port.items() if text is not None})
    tree.link(f"/sys/class/infiniband/{name}", f"../..{folder.removeprefix('/sys')}")
