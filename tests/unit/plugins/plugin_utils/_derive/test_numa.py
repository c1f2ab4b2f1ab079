# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes, sockets, memory and interrupts."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.numa import numa, remote_interrupts

from neutral_facts import ABSENT, lacking, node, ok

CPUS = [f"{8 * number}-{8 * number + 7}" for number in range(8)]


def nodes(*gib, cpus=None):
    return [node(number, CPUS[number] if cpus is None else cpus[number], [10], size) for number, size in enumerate(gib)]


@pytest.mark.parametrize("sizes, cpus, sockets, per_socket, without, uneven", [
    ((503, 503), None, 2, ok(1), [], []),
    ((504, 496), None, 2, ok(1), [], []),
    ((64,) * 8, None, 2, ok(4), [], []),
    ((64, 64, 64, 64), None, 1, ok(4), [], []),
    ((503, 377), None, 2, ok(1), [], ["node1 has 377 GiB, the largest node 503 GiB"]),
    ((503, 0), None, 2, ok(1), ["node1 (CPUs 8-15)"], []),
    ((503, 503, 256), ("0-7", "8-15", ""), 2, ok(1), [], []),      # a node of CXL memory
    ((503, 503, 503), None, 2, lacking("absent"), [], []),
    ((503,), None, None, lacking("absent"), [], []),
])
def test_nodes_and_their_memory(sizes, cpus, sockets, per_socket, without, uneven):
    found = numa(nodes(*sizes, cpus=cpus), {"sockets": sockets})
    assert {key: found[key] for key in ("per_socket", "without_memory", "uneven")} == {
        "per_socket": per_socket, "without_memory": ok(without), "uneven": ok(uneven)}


def test_memory_that_could_not_be_read_leaves_all_open():
    some = nodes(503, 503)
    some[1]["memory_kib"] = lacking("denied")
    found = numa(some, {"sockets": 2})
    assert found == {"with_cpus": 2, "layout": "2 nodes with CPUs on 2 sockets",
                     "split": "a split into 1 nodes for each socket",
                     **dict.fromkeys(("per_socket", "without_memory", "uneven"), lacking("denied"))}


def test_b18_nodes_of_a_gpu_are_not_counted_on_sockets():
    """B-18: GH200 has nine nodes, one of which has CPUs."""
    found = numa(nodes(468, 96, *[0] * 7, cpus=("0-71", *[""] * 8)), {"sockets": 1})
    assert (found["with_cpus"], found["layout"]) == (1, "1 node with CPUs on 1 socket")
    assert (found["per_socket"], found["without_memory"], found["uneven"]) == (ok(1), ok([]), ok([]))


def test_a_node_of_which_nobody_knows_the_memory_is_not_one_without():
    some = nodes(503, 503)
    some[1]["memory_kib"] = ABSENT
    found = numa(some, {"sockets": 2})
    assert (found["per_socket"], found["without_memory"], found["uneven"]) == (ok(1), ABSENT, ABSENT)


def test_a_kernel_without_numa():
    assert numa([], {"sockets": 1})["per_socket"] == lacking("absent")


NEAR = ok("0-31,64-95")


def interrupts(*pairs, local=None):
    return remote_interrupts({"local_cpus": local or NEAR, "interrupts": [
        {"irq": 200 + number, "affinity": affinity, "effective": effective, "node": ok(0)}
        for number, (affinity, effective) in enumerate(pairs)]})


@pytest.mark.parametrize("affinity, effective, remote", [
    (ok("0-127"), ok("64"), []), (ok("0-31"), ok("3"), []), (ok("0-127"), ok("32"), ["32"]),
    (ok("32-63"), ABSENT, ["32-63"]), (ok("0-127"), ABSENT, []), (ok("32-63"), ok(""), ["32-63"]),
    (ok("0-127"), ok("31-33"), []),
])
def test_what_counts_is_who_takes_an_interrupt(affinity, effective, remote):
    found = interrupts((affinity, effective))["value"]
    assert [entry["cpus"] for entry in found] == remote


def test_a_node_without_cpus_takes_no_interrupt():
    """Nothing is remote to it, and no command writes an empty list."""
    assert interrupts((ok("0-127"), ok("100")), local=ok("")) == ok([])


def test_interrupts_of_which_no_cpus_are_told_are_not_near():
    assert interrupts((ABSENT, ABSENT), (ABSENT, ABSENT)) == lacking("absent")
    assert interrupts((ABSENT, ABSENT), (ok("0-127"), ok("64"))) == ok([])
    assert interrupts() == ok([])


def test_each_remote_interrupt_has_its_command():
    found = interrupts((ok("0-127"), ok("5")), (ok("0-127"), ok("100")))
    assert found == ok([{"irq": 201, "cpus": "100",
                         "command": "echo 0-31,64-95 > /proc/irq/201/smp_affinity_list",
                         "undo": "echo 0-127 > /proc/irq/201/smp_affinity_list"}])


@pytest.mark.parametrize("pair, local, status", [
    ((ok("0-127"), lacking("denied")), ok("0-31"), "denied"), ((lacking("denied"), ok("5")), ok("0-31"), "denied"),
    ((ok("0-127"), ok("100")), lacking("denied"), "denied"), ((ok("0-127"), ok("100")), ABSENT, "absent")])
def test_what_could_not_be_read_makes_no_remote_interrupt(pair, local, status):
    assert interrupts(pair, local=local) == lacking(status)


@pytest.mark.parametrize("vendor, nodes, split", [
    ("GenuineIntel", 4, "SNC4"), ("AuthenticAMD", 4, "NPS4"), ("AuthenticAMD", 12, "L3 cache as NUMA domain"),
    ("ARM", 4, "a split into 4 nodes for each socket"), (None, 2, "a split into 2 nodes for each socket")])
def test_what_the_bios_calls_several_nodes_for_a_socket(vendor, nodes, split):
    found = numa([{"node": f"node{number}", "cpus": str(number), "memory_kib": ok(1)} for number in range(nodes)],
                 {"sockets": 1, "vendor": vendor})
    assert found["split"] == split
