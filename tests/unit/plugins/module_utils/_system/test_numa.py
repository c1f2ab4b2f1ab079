# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._system.numa import parse_meminfo, parse_numbers, read

from hosts.grace_hopper import plant_numa_status
from hosts.numa import plant_nodes


def test_two_nodes_with_one_cpu_offline(tree, host):
    plant_nodes(tree, ("0-63,128-191", "64-127,192-238,240-255"), memory_kib=792244224, free_kib=789052416)
    tree.file("/sys/devices/system/cpu/cpu0/topology/physical_package_id", 0)
    tree.file("/sys/devices/system/cpu/cpu64/topology/physical_package_id", 1)
    assert read(host) == {"nodes": [
        {"node": "node0", "id": 0, "cpus": "0-63,128-191", "package": 0, "memory_kib": ("ok", 792244224, None),
         "free_kib": ("ok", 789052416, None), "gpu": None, "distances": [10, 32]},
        {"node": "node1", "id": 1, "cpus": "64-127,192-238,240-255", "package": 1,
         "memory_kib": ("ok", 792244224, None),
         "free_kib": ("ok", 789052416, None), "gpu": None, "distances": [32, 10]},
    ]}


def test_nodes_of_a_copy_without_the_list_of_them(tree, host):
    plant_nodes(tree, ("0-7", "8-15"))
    tree.remove("/sys/devices/system/node/online").file("/sys/devices/system/node/has_cpu", "0-1")
    assert [(node["id"], node["cpus"]) for node in read(host)["nodes"]] == [(0, "0-7"), (1, "8-15")]


def test_node_of_memory_only(tree, host):
    plant_nodes(tree, ("0-71", ""), distances=((10, 80), (80, 10)))
    nodes = read(host)["nodes"]
    assert [(node["cpus"], node["distances"]) for node in nodes] == [("0-71", [10, 80]), ("", [80, 10])]


def test_b18_a_node_is_the_memory_of_the_gpu_that_the_driver_names(tree, host):
    """B-18. A GPU whose memory is not online has no node."""
    plant_nodes(tree, ("0-71", "", ""), memory_kib=(490733568, 100400000, 0))
    plant_numa_status(tree, "0009:01:00.0", 1)
    tree.file("/proc/driver/nvidia/gpus/0019:01:00.0/numa_status", "Node:      -1\nStatus:    offline\n")
    assert [node["gpu"] for node in read(host)["nodes"]] == [None, "0009:01:00.0", None]


def test_no_package_of_a_node_without_cpus_and_where_the_kernel_has_none(tree, host):
    plant_nodes(tree, ("0-71", "", "72-143"))
    tree.file("/sys/devices/system/cpu/cpu0/topology/physical_package_id", -1)
    assert [node["package"] for node in read(host)["nodes"]] == [None, None, None]


def test_an_old_kernel_has_a_mask_of_cpus(tree, host):
    plant_nodes(tree, ("0", "1"))
    for node, mask in enumerate(("00000000,0000000f", "00000001,000000f0")):
        tree.remove(f"/sys/devices/system/node/node{node}/cpulist")
        tree.file(f"/sys/devices/system/node/node{node}/cpumap", mask)
    assert [node["cpus"] for node in read(host)["nodes"]] == ["0-3", "4-7,32"]


def test_nodes_with_a_gap(tree, host):
    plant_nodes(tree, ("0", "1", "2"))
    tree.file("/sys/devices/system/node/online", "0,2")
    assert [node["id"] for node in read(host)["nodes"]] == [0, 2]


def test_kernel_without_numa(host):
    assert read(host) == {"nodes": []}


def test_node_whose_files_are_missing(tree, host):
    tree.file("/sys/devices/system/node/online", "0")
    node, = read(host)["nodes"]
    assert (node["cpus"], node["distances"], node["memory_kib"].status) == ("", [], "absent")


def test_node_whose_memory_lines_are_missing(tree, host):
    plant_nodes(tree, ("0",))
    tree.file("/sys/devices/system/node/node0/meminfo", "Node 0 HugePages_Total:     0")
    node, = read(host)["nodes"]
    assert (node["memory_kib"].status, node["memory_kib"].detail) == ("absent", "no line MemTotal")


@pytest.mark.parametrize(("text", "values"), [
    ("MemTotal:       527765504 kB\nHugePages_Total:       0\n", {"MemTotal": 527765504, "HugePages_Total": 0}),
    ("Node 0 MemTotal:       792244224 kB\nNode 0 Active(anon):  8 kB", {"MemTotal": 792244224, "Active(anon)": 8}),
    ("\nnonsense\nNode 12 MemFree: 3 kB", {"MemFree": 3}),
    ("", {}),
])
def test_lines_of_meminfo(text, values):
    assert parse_meminfo(text) == values


def test_distances_of_nine_nodes():
    assert parse_numbers("10 11 12 12 32 32 32 32 255") == [10, 11, 12, 12, 32, 32, 32, 32, 255]


def test_this_machine():
    for node in read(Host())["nodes"]:
        assert node["distances"]
        assert node["memory_kib"].value >= node["free_kib"].value >= 0
