# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a VM that Proxmox VE refuses, each by a rule of qemu-server's Memory.pm, and what other nodes lack."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.guests.elsewhere import place_on
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.placement.situation import Placed, topology
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.placement.vm_memory import judge_settings

import neutral_facts as neutral
import neutral_placement
from neutral_facts import node, ok


def numa(key="numa0", cpus="0-63", hostnodes="0", memory=262144, policy="bind"):
    return {"key": key, "cpus": cpus, "hostnodes": hostnodes, "memory_mib": memory, "policy": policy}


def problems(*nodes, affinity="0-31", **vm):
    entry = neutral_placement.vm()
    entry["configured"]["cpus"] = ok(affinity)
    entry["configured"]["vm"].update({"numa_nodes": list(nodes) or [numa()], **vm})
    found = judge_settings(Placed("vm:200", (), entry, None), topology(neutral.epyc()))
    return [(one["problem"], one["starts"]) for one in found]


@pytest.mark.parametrize("nodes, vm, problem", [
    ((), {}, None),
    ((numa(cpus="0-31", memory=131072), numa("numa1", "32-63", "1", 131072)), {}, None),
    ((numa(memory=1024),), {}, "numaN have 1024 MiB together, memory is 262144"),
    ((numa(memory=None),), {}, "numa0 has no memory"),
    ((numa(cpus=None),), {}, "numa0 has no cpus"),
    ((numa(cpus="0-64"),), {}, "numa0 names virtual CPU 64 of 64"),
    ((numa(policy=None),), {}, "numa0 has hostnodes and no policy"),
    ((numa(hostnodes="0,4"),), {}, "numa0: the host has no node 4"),
    ((numa(hostnodes=None, policy=None),), {}, None),
    ((numa(hostnodes=None, policy=None),), {"hugepages": "2"}, "numa0 needs one node of hostnodes for hugepages"),
    ((numa(hostnodes="0-1"),), {"hugepages": "any"}, "numa0 needs one node of hostnodes for hugepages"),
    ((numa(),), {"hugepages": "1024"}, None),
    ((), {"hotplug_memory": True}, "memory that is plugged in (hotplug) excludes numaN"),
    ((), {"numa": False, "numa_nodes": [], "hugepages": "2"}, "hugepages need numa: 1"),
])
def test_what_keeps_it_from_starting(nodes, vm, problem):
    assert problems(*nodes, **vm) == ([] if problem is None else [(problem, False)])


def test_memory_that_is_no_whole_number_of_huge_pages():
    assert problems(numa(memory=262145), hugepages="1024") == [
        ("numa0: 262145 MiB are no whole number of huge pages of 1024 MiB", False),
        ("numaN have 262145 MiB together, memory is 262144", False)]


def test_virtual_nodes_without_numa_do_nothing_and_it_starts():
    assert problems(numa=False) == [("numa0 do nothing without numa: 1", True)]


@pytest.mark.parametrize("affinity, found", [("0-31", []), ("250-300", []),
                                             ("256-300", [("affinity names no CPU that is online", False)])])
def test_an_affinity_needs_one_cpu_that_is_there(affinity, found):
    assert problems(affinity=affinity) == found


SMALL = {"numa": {"nodes": [node(0, "0-15", [10], 128)]}}


@pytest.mark.parametrize("cpus, hostnodes, policy, found", [
    ("0-15", "0", "preferred", []),
    ("0-31", "0", "preferred", ["affinity: it has no CPUs 16-31"]),
    ("0-15", "1", "bind", ["numa0: it has no node 1"]),
    ("0-15", "0", "bind", ["numa0: node 0 has 128 GiB there, and 256 GiB are bound to it"])])
def test_what_a_smaller_node_of_the_cluster_lacks(cpus, hostnodes, policy, found):
    configured = neutral_placement.vm(cpus=cpus)["configured"]
    configured["vm"]["numa_nodes"] = [numa(hostnodes=hostnodes, policy=policy)]
    assert place_on(configured, SMALL) == found
