# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import as_facts
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci import rdma

from facts_schema import problems
from hosts.config_space import ConfigSpace
from hosts.network import plant_rdma
from hosts.pci import plant_device, plant_root_port


def test_two_ports_of_a_card_and_one_without_hardware(tree, host):
    for name, bdf in (("mlx5_0", "0000:21:00.0"), ("mlx5_1", "0000:21:00.1")):
        folder = f"/sys/devices/pci0000:20/{bdf}/infiniband/{name}"
        tree.file(f"{folder}/node_type", "1: CA").link(f"{folder}/device", "../..")
        tree.link(f"/sys/class/infiniband/{name}", f"../../devices/pci0000:20/{bdf}/infiniband/{name}")
        tree.link(f"{folder}/device", f"../../../{bdf}")
    tree.file("/sys/class/infiniband/rxe0/node_type", "1: CA")
    facts = rdma.read(host)
    assert [(card["name"], card["bdf"], card["node_type"], card["pcie"].status) for card in facts["devices"]] == [
        ("mlx5_0", "0000:21:00.0", "CA", "absent"), ("mlx5_1", "0000:21:00.1", "CA", "absent"),
        ("rxe0", None, "CA", "absent")]
    assert problems("rdma", as_facts(facts)) == []


def test_registers_of_a_card_and_of_the_port_above_it(tree, host):
    port = plant_root_port(tree, "0000:20:01.1", express={"max_width": 8, "width": 8})
    plant_device(tree, "0000:21:00.0", parent=port, vendor=0x15B3, class_=0x020700,
                 config=ConfigSpace(0x15B3, 0x1021, 0x020700).express(0x60, width=8, max_read_request=4096))
    plant_rdma(tree, "mlx5_0", "0000:21:00.0")
    card, = rdma.read(host)["devices"]
    assert (card["vendor"], card["virtual_function"]) == ("15b3", False)
    assert (card["pcie"].value["max_read_request"], card["pcie"].value["link"]["max_width"]) == (4096, 16)
    assert card["port"].value["link"]["max_width"] == 8
    assert as_facts(card["ports"]) == [{
        "port": "1", "link_layer": {"status": "ok", "value": "InfiniBand"},
        "state": {"status": "ok", "value": "4: ACTIVE"}, "phys_state": {"status": "ok", "value": "5: LinkUp"},
        "rate": {"status": "ok", "value": "100 Gb/sec (4X EDR)"}}]
    assert problems("rdma", as_facts(rdma.read(host))) == []


def test_a_suspended_card_is_not_woken_and_a_virtual_function_is_told(tree, host):
    plant_device(tree, "0000:21:00.0", vendor=0x15B3, class_=0x020700, runtime_status="suspended")
    plant_rdma(tree, "mlx5_0", "0000:21:00.0")
    plant_device(tree, "0000:21:00.4", vendor=0x15B3, class_=0x020700, physical_function="0000:21:00.0")
    plant_rdma(tree, "mlx5_1", "0000:21:00.4")
    first, second = rdma.read(host)["devices"]
    assert (first["pcie"].status, first["virtual_function"], second["virtual_function"]) == ("asleep", False, True)


def test_host_without_rdma(host):
    assert rdma.read(host) == {"devices": []}


@pytest.mark.parametrize(("text", "kind"), [("4: RNIC", "RNIC"), ("", None), ("1:", None), ("odd", None)])
def test_node_type(text, kind):
    assert rdma.parse_node_type(text) == kind


def test_this_machine_is_valid():
    assert problems("rdma", as_facts(rdma.read(Host()))) == []
