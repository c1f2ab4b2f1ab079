# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two NUMA nodes of one socket are not across sockets: packages tell, and where they do not, distances."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.packages import places, same_package

import neutral_facts as neutral

# NPS4 on two sockets: 12 within a socket, 32 between them; SNC2 on two sockets: 12 and 21.
NPS4 = [[10 if row == column else 12 if row // 4 == column // 4 else 32 for column in range(8)] for row in range(8)]
SNC2 = [[10, 12, 21, 21], [12, 10, 21, 21], [21, 21, 10, 12], [21, 21, 12, 10]]


def known(distances, packages, sockets, cpus=None):
    nodes = [{**neutral.node(number, f"{number}", row, 64), "package": packages[number]}
             for number, row in enumerate(distances)]
    for number, text in (cpus or {}).items():
        nodes[number]["cpus"] = text
    return places({"numa": {"nodes": nodes}, "cpu": {"sockets": sockets}})


@pytest.mark.parametrize("one, other, same", [(0, 3, True), (0, 4, False), (7, 4, True), (2, 2, True)])
@pytest.mark.parametrize("packages", [[0] * 4 + [1] * 4, [None] * 8])
def test_nps4_on_two_sockets(packages, one, other, same):
    assert same_package(one, other, known(NPS4, packages, 2)) is same


@pytest.mark.parametrize("sockets, packages, same", [
    (1, [None] * 4, True),                  # NPS4 or L3 as NUMA on one socket
    (2, [None] * 4, False),                 # by distance: 21 is the farthest
    (4, [None] * 4, False),                 # a socket for every node
    (None, [None] * 4, False),
    (2, [0, 0, 0, 0], True),                # what the CPUs say counts more than distances
])
def test_the_first_and_the_third_of_four_nodes(sockets, packages, same):
    assert same_package(0, 2, known(SNC2, packages, sockets)) is same


def test_distances_that_are_all_the_same_tell_nothing():
    flat = [[10 if row == column else 20 for column in range(4)] for row in range(4)]
    assert same_package(0, 1, known(flat, [None] * 4, 2)) is None
    assert same_package(0, 1, known(flat, [0, 0, None, None], 2)) is True


def test_a_node_of_memory_only_is_where_the_nearest_cpus_are():
    """Node 2 is the memory of a GPU beside the second processor."""
    distances = [[10, 40, 120], [40, 10, 80], [120, 80, 10]]
    both = known(distances, [0, 1, None], 2, cpus={2: ""})
    assert [same_package(node, 2, both) for node in (0, 1)] == [False, True]


def test_facts_of_an_earlier_release_have_no_packages():
    found = known(SNC2, [0, 0, 1, 1], 2)
    for node in found.nodes.values():
        del node["package"]
    assert [same_package(0, other, found) for other in (1, 2)] == [True, False]
