# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.module_utils._placement.facts import read_own
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.guests import NOTHING, joined, of_host

import neutral_facts as neutral
import neutral_placement
from neutral_facts import ok

UUID = "11111111-2222-3333-4444-555555555555"
TWO_CARDS = [{"key": f"hostpci{place}", "value": bdf, "mapping": None, "bdfs": [bdf], "missing": []}
             for place, bdf in enumerate(("0000:03:00.0", "0000:83:00.0"))]      # at node 0 and at node 1


def server():
    """The host of a VM with two GPUs and of a container with all of them."""
    facts = neutral.epyc()
    facts["guests"]["vms"] = ok([{"id": "200", "hostpci": TWO_CARDS, "onboot": True}])
    facts["placement"]["guests"]["value"].append(neutral_placement.vm("200"))
    return of_host(facts)


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


def test_older_facts_tell_nothing():
    assert of_host({"gpus": [], "numa": {"nodes": []}}) == NOTHING


def test_by_what_a_guest_is_known_is_read_of_guests_alone(tree, host):
    tree.file("/sys/class/dmi/id/product_uuid", UUID.upper())
    tree.file("/sys/class/net/eth0/address", "BC:24:11:00:00:01").file("/sys/class/net/lo/address", "00:00:00:00:00:00")
    assert read_own(host, "bare_metal") == {"uuid": ("absent", None, "no VM"), "addresses": []}
    assert read_own(host, "vm")["uuid"].value == UUID
    assert read_own(host, "container")["addresses"] == ["bc:24:11:00:00:01"]
