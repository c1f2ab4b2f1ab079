# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.module_utils._placement.facts import read_own
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.guests import NOTHING, joined, of_host

from guest_hosts import UUID, server_facts


def server():
    return of_host(server_facts())


def inside(*nodes, uuid=None, addresses=()):
    return {"uuid": uuid, "addresses": list(addresses), "gpu_nodes": list(nodes), "guests": []}


def pairs(**places):
    return joined({name: {"place": place} for name, place in places.items()})


def test_a_host_keeps_its_guests_with_gpus_and_the_nodes_of_these():
    found = server()
    assert (found["uuid"], found["gpu_nodes"]) == (None, [0, 1])
    assert [(guest["subject"], guest["uuid"], guest["nodes"]) for guest in found["guests"]] == [
        ("lxc:101", None, [0, 1]), ("vm:200", UUID, [0, 1])]


def test_a_vm_that_sees_one_node_where_its_gpus_are_at_two():
    assert pairs(pve1=server(), model=inside(0, uuid=UUID)) == [
        {"host": "pve1", "subject": "vm:200", "guest": "model", "outside": [0, 1], "inside": [0],
         "problem": "its GPUs are at 2 nodes of pve1, and it sees all of them at 1 node"}]


def test_a_container_is_known_by_its_hardware_address():
    [pair] = pairs(pve1=server(), serve=inside(0, 1, addresses=["02:00:00:00:00:01", "bc:24:11:00:00:01"]))
    assert (pair["subject"], pair["guest"], pair["problem"]) == ("lxc:101", "serve", "")


def test_who_is_no_guest_of_the_fleet_is_joined_with_nobody():
    assert pairs(pve1=server(), other=inside(0, uuid=UUID.replace("1", "9")), desk=inside()) == []


def test_a_uuid_that_two_hosts_have_identifies_neither():
    assert pairs(pve1=server(), model=inside(0, uuid=UUID), copy=inside(0, 1, uuid=UUID)) == []


def test_older_facts_tell_nothing():
    assert of_host({"gpus": [], "numa": {"nodes": []}}) == NOTHING


def test_by_what_a_guest_is_known_is_read_of_guests_alone(tree, host):
    tree.file("/sys/class/dmi/id/product_uuid", UUID.upper())
    tree.file("/sys/class/net/eth0/address", "BC:24:11:00:00:01").file("/sys/class/net/lo/address", "00:00:00:00:00:00")
    assert read_own(host, "bare_metal") == {"uuid": ("absent", None, "no VM"), "addresses": []}
    assert read_own(host, "vm")["uuid"].value == UUID
    assert read_own(host, "container")["addresses"] == ["bc:24:11:00:00:01"]
