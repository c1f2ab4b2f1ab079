# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils import _rdma
from ansible_collections.gpuhost.tuning.plugins.module_utils._host import Host

from facts_schema import problems


def test_two_ports_of_a_card_and_one_without_hardware(tree, host):
    for name, bdf in (("mlx5_0", "0000:21:00.0"), ("mlx5_1", "0000:21:00.1")):
        folder = f"/sys/devices/pci0000:20/{bdf}/infiniband/{name}"
        tree.file(f"{folder}/node_type", "1: CA").link(f"{folder}/device", "../..")
        tree.link(f"/sys/class/infiniband/{name}", f"../../devices/pci0000:20/{bdf}/infiniband/{name}")
        tree.link(f"{folder}/device", f"../../../{bdf}")
    tree.file("/sys/class/infiniband/rxe0/node_type", "1: CA")
    facts = _rdma.read(host)
    assert facts == {"devices": [
        {"name": "mlx5_0", "bdf": "0000:21:00.0", "node_type": "CA"},
        {"name": "mlx5_1", "bdf": "0000:21:00.1", "node_type": "CA"},
        {"name": "rxe0", "bdf": None, "node_type": "CA"}]}
    assert problems("rdma", facts) == []


def test_host_without_rdma(host):
    assert _rdma.read(host) == {"devices": []}


@pytest.mark.parametrize(("text", "kind"), [("4: RNIC", "RNIC"), ("", None), ("1:", None), ("odd", None)])
def test_node_type(text, kind):
    assert _rdma.parse_node_type(text) == kind


def test_this_machine_is_valid():
    assert problems("rdma", _rdma.read(Host())) == []
