# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two nodes of one cluster: what a guest would meet on the other one."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.guests import ha

import neutral_facts as neutral
from neutral_facts import merge, ok

NODES = ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"]
UVM_BY_NUMBER = {
    "devices": [{"key": "lxc.mount.entry", "path": path, "optional": True, "writable": True} for path in NODES],
    "allow": [{"key": "lxc.cgroup2.devices.allow", "value": "c 509:* rwm", "kind": "c", "major": 509, "minor": None,
               "access": "rwm", "owners": ["nvidia-uvm"]}]}


def entry(guest="lxc:101", state="started", nodes=None, strict=False):
    return {"guest": guest, "state": state, "nodes": nodes, "strict": strict}


def cluster(*entries, container=None, vm=None, mappings=()):
    facts = neutral.epyc()
    facts["guests"].update({
        "cluster_nodes": ["pve1", "pve2", "pve3"], "ha": ok(list(entries)), "mappings": list(mappings),
        "containers": ok([{**neutral.lxc("101", NODES), **(container or {})}]), "vms": ok([vm] if vm else [])})
    return facts


def vm(**hostpci):
    named = {"key": "hostpci0", "value": "0000:03:00", "mapping": None, "bdfs": ["0000:03:00"], "missing": []} | hostpci
    return {"id": "200", "name": "desk", "running": True, "lock": None, "onboot": True, "cpus": None, "pinned": False,
            "hostpci": [named]}


@pytest.mark.parametrize("managed, nodes", [
    (entry(), ["pve2", "pve3"]), (entry(nodes=["pve1", "pve2"]), ["pve2", "pve3"]),
    (entry(nodes=["pve1", "pve2"], strict=True), ["pve2"]), (entry(nodes=["pve1"], strict=True), []),
    (entry(state="stopped"), ["pve2", "pve3"])])
def test_where_a_guest_may_come_to(managed, nodes):
    """Without `strict` the nodes of a group or a rule are a preference."""
    assert ha.managed(cluster(managed), "lxc:101")["nodes"] == nodes


@pytest.mark.parametrize("entries", [(), (entry("lxc:102"),), (entry(state="ignored"),), (entry(state="disabled"),)])
def test_a_guest_that_nobody_moves(entries):
    assert ha.managed(cluster(*entries), "lxc:101") is None


def of_container(facts, peers):
    [container] = derive(facts, peers)["derived"]["gpu_containers"]
    return container["ha"]["elsewhere"]


STRICT = entry(nodes=["pve1", "pve2"], strict=True)


def test_a_node_without_an_audit_leaves_it_unknown():
    assert of_container(cluster(entry()), {"pve2": neutral.epyc()}) == {
        "status": "pve3 not audited yet with this report directory", "value": None}


def test_what_is_wrong_on_one_node_is_said_whatever_the_other_is():
    peer = merge(neutral.epyc(), {"nvidia": {"nodes": ok([])}})
    assert of_container(cluster(entry()), {"pve2": peer})["value"] == [
        f"pve2: {path} is missing, so it does not start" for path in NODES]


@pytest.mark.parametrize("container, peer, problems", [
    ({}, {}, []),
    (UVM_BY_NUMBER, {}, []),
    (UVM_BY_NUMBER, {"nvidia": {"majors": ok([{"name": "nvidia-uvm", "major": 511}])}},
     ["pve2: c 509:* rwm is nvidia-uvm here, whose major there is 511"]),
    (UVM_BY_NUMBER, {"nvidia": {"majors": ok([{"name": "nvidia", "major": 195}])}},
     ["pve2: c 509:* rwm is nvidia-uvm here, whose major there is none"]),
    ({"libraries": [{"path": "/usr/lib/libcuda.so.595.58.03", "version": "595.58.03", "optional": True}]},
     {"nvidia": {"driver_version": ok("610.11.02")}},
     ["pve2: libcuda.so.595.58.03 is mounted, and its driver is 610.11.02"]),
])
def test_a_container_on_the_other_node(container, peer, problems):
    facts = cluster(STRICT, container=container)
    assert of_container(facts, {"pve2": merge(neutral.epyc(), peer)}) == {"status": "ok", "value": problems}


def of_vm(facts, peers):
    [found] = derive(facts, peers)["derived"]["gpu_vms"]
    return found["ha"]["elsewhere"]


def test_a_mapping_is_known_for_the_whole_cluster():
    by_mapping = vm(mapping="rtx", value="mapping=rtx")
    facts = cluster(entry("vm:200"), vm=by_mapping, mappings=[{"name": "rtx", "nodes": ["pve1", "pve2"]}])
    assert of_vm(facts, {}) == {"status": "ok",
                                "value": ["pve3: hostpci0: the mapping rtx has no device there"]}


@pytest.mark.parametrize("peer, answer", [
    ({}, ("ok", [])),
    ({"gpus": [{"device": "2331"}]}, ("ok", ["pve2: hostpci0: 0000:03:00.0 is 10de:2bb5 here and 10de:2331 there"])),
    ({"gpus": [{"bdf": "0000:99:00.0"}]}, ("ok", ["pve2: hostpci0: 0000:03:00.0 is 10de:2bb5 here and no GPU there"])),
])
def test_an_address_is_another_device_on_another_node(peer, answer):
    facts = cluster(entry("vm:200", nodes=["pve2"], strict=True), vm=vm())
    assert tuple(of_vm(facts, {"pve2": merge(neutral.epyc(), peer)}).values()) == answer
    assert of_vm(facts, {})["status"] != "ok"
