# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import DENIED, Reading, as_facts, ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import cluster
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import guests as pve_guests
from hypothesis import given, settings
from hypothesis import strategies as st

from facts_schema import problems
from hosts.proxmox import plant_cluster, plant_ha, plant_proxmox, plant_tasks

NOTHING = {"node": None, "fenced": [], "services": [], "lrm_mode": None, "lrm_state": None}


class Unreadable(Host):
    """A host on which one file may not be read, as root is never stopped by permission bits."""

    def __init__(self, sysroot, path):
        super().__init__(sysroot)
        self._path = path

    def read(self, path, *arguments):
        return Reading(DENIED, None, "EACCES") if path == self._path else super().read(path, *arguments)


def read(host):
    facts = cluster.read(host, pve_guests.read(host))
    assert problems("cluster", as_facts(facts)) == []
    return facts


def test_a_host_without_proxmox(host):
    assert {reading.status for reading in read(host).values()} == {"absent"}


def test_an_empty_etc_pve(tree, host):
    tree.folder("/etc/pve")
    assert {reading.status for reading in read(host).values()} == {"unparsable"}


def test_a_standalone_node_on_which_nothing_happens(tree, host):
    plant_proxmox(tree)
    assert read(host) == {"quorum": ok("standalone"), "ha": ok(NOTHING), "tasks": ok([])}


@pytest.mark.parametrize(("quorate", "message"), [(True, "quorate"), (False, "not_quorate")])
def test_a_member_of_a_cluster(tree, host, quorate, message):
    plant_cluster(plant_proxmox(tree), quorate=quorate)
    assert read(host)["quorum"] == ok(message)


@pytest.mark.parametrize("left", ["/etc/pve/corosync.conf", "/etc/corosync/corosync.conf"])
def test_a_member_without_corosync_is_not_standalone(tree, host, left):
    plant_proxmox(tree).file(left, "totem {\n}")
    assert read(host)["quorum"] == ok("not_quorate")


def test_members_that_are_missing_or_mad(tree, host):
    plant_proxmox(tree).remove("/etc/pve/.members")
    assert read(host)["quorum"].status == "absent"
    for text in ("", "[]", '{"cluster": 1}', '{"cluster": {"nodes": 3}}'):
        tree.file("/etc/pve/.members", text)
        assert read(host)["quorum"].status == "unparsable"


def test_high_availability(tree, host):
    plant_ha(plant_proxmox(tree), nodes={"pve2": "fence", "pve3": "maintenance"}, services={
        "vm:200": {"node": "pve1", "state": "migrate", "target": "pve3"}, "ct:101": {"node": "pve2", "state": "fence"}})
    assert read(host)["ha"] == ok({
        "node": "online", "fenced": ["pve2"], "lrm_mode": "active", "lrm_state": "active", "services": [
            {"id": "ct:101", "state": "fence", "node": "pve2", "target": None},
            {"id": "vm:200", "state": "migrate", "node": "pve1", "target": "pve3"}]})


def test_a_node_in_maintenance(tree, host):
    plant_ha(plant_proxmox(tree), nodes={"pve1": "maintenance"}, mode="maintenance", state="maintenance")
    assert read(host)["ha"] == ok({**NOTHING, "node": "maintenance", "lrm_mode": "maintenance",
                                   "lrm_state": "maintenance"})


@pytest.mark.parametrize("path", ["/etc/pve/ha/manager_status", "/etc/pve/nodes/pve1/lrm_status"])
@pytest.mark.parametrize("text", ["", "[]", '{"node_status": {"pve1": 5}, "mode": 5}'])
def test_a_status_that_is_none(tree, host, path, text):
    plant_ha(plant_proxmox(tree)).file(path, text)
    assert read(host)["ha"].status == "unparsable"


@pytest.mark.parametrize(("path", "fact"), [
    ("/etc/pve/.members", "quorum"), ("/etc/pve/ha/manager_status", "ha"), ("/etc/pve/nodes/pve1/lrm_status", "ha"),
    ("/var/log/pve/tasks/active", "tasks")])
def test_a_file_that_may_not_be_read(tree, path, fact):
    plant_proxmox(tree)
    assert read(Unreadable(str(tree.root), path))[fact].status == "denied"


def test_only_tasks_that_run_count(tree, host):
    plant_tasks(plant_proxmox(tree), "vzdump", ended=("qmstart", "vncproxy"))
    # 0x6B0C1A80 by hand: 1795955328.
    assert read(host)["tasks"] == ok([{"type": "vzdump", "guest": "101", "user": "root@pam", "started": 1795955328}])


def test_tasks_of_the_node_itself(tree, host):
    plant_tasks(plant_proxmox(tree), "aptupdate", guest="")
    assert read(host)["tasks"].value[0]["guest"] is None


def test_tasks_that_are_none(tree, host):
    plant_proxmox(tree).file("/var/log/pve/tasks/active", "UPID:pve1:what\n")
    assert read(host)["tasks"].status == "unparsable"


def test_a_lock_of_a_guest(tree, host):
    plant_proxmox(tree, containers={"101": "lock: backup\ncores: 2"}, vms={"200": "cores: 2\n[snap]\nlock: snapshot"})
    guests = pve_guests.read(host)
    assert [guest["lock"] for guest in guests["containers"].value + guests["vms"].value] == ["backup", None]


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(
    inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["cluster", "quorate", "node_status", "service_status", "pve1", "state", "mode"]),
        inner, max_size=4), max_leaves=8)


@pytest.mark.parametrize("parse", [
    lambda text: cluster.parse_manager(text, "pve1"), cluster.parse_quorum, cluster.parse_local,
    cluster.parse_tasks])
@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=60) | JSON.map(json.dumps))
def test_any_text_is_understood_or_unparsable(parse, text):
    assert ok(text).map(parse).status in ("ok", "unparsable")
