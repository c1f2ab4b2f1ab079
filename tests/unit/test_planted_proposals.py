# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is proposed for planted hosts, worked out by hand."""
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._placement.document import placement

from facts_schema import document_problems
from hosts.badly_placed import badly_placed
from hosts.nps4 import nps4_on_one_socket
from hosts.reference import reference
from hosts.story_before import story_before
from placement_checker import check


def proposed(facts):
    made = placement("pve1", {"facts": facts, "collected_at": "2026-12-01T04:00:00Z"})
    assert document_problems("placement.json", made) == []
    check(made, facts)
    return made, {guest["subject"]: guest for guest in made["guests"]}


def test_ten_guests_that_want_more_than_there_is(facts_of):
    """144 vCPUs for 128 threads, 768 GiB for 754: 203 and 103 are right and stay. 200 gets half of its CPUs and memory
    at each of its GPUs. 201 moves to its GPU's node; its 192 GiB do not fit there beside those of 200 and 203, so they
    are not bound, and for the same reason the memory of 202 stays where it is. 102 leaves the cores of 103, and 101
    shares node 1 with them, as its 32 vCPUs have no room of their own. 204 to 206 share one GPU and wait."""
    made, guests = proposed(facts_of(badly_placed))
    assert made["left_out"] == ["vm:204", "vm:205", "vm:206"]
    assert {subject: guest["proposed"]["cpus"] for subject, guest in guests.items() if guest["changed"]} == {
        "vm:200": "0-7,16-23,32-47,64-71,80-87,96-111", "vm:201": "24-31,88-95",
        "lxc:101": "32-63,96-127", "lxc:102": "48-51,112-115"}
    assert guests["vm:200"]["commands"] == [
        "qm set 200 --affinity 0-7,16-23,32-47,64-71,80-87,96-111 --numa 1 "
        "--numa0 cpus=0-31,hostnodes=0,memory=196608,policy=bind "
        "--numa1 cpus=32-63,hostnodes=1,memory=196608,policy=bind"]
    assert (guests["vm:201"]["commands"], guests["vm:201"]["undo"]) == (
        ["qm set 201 --affinity 24-31,88-95"], ["qm set 201 --affinity 32-47"])
    assert guests["lxc:102"]["undo"] == ["lxc.cgroup2.cpuset.cpus: 56-63"]
    assert made["measure"]["proposed"]["gpu_distance"] == 10 < made["measure"]["now"]["gpu_distance"]


def test_the_containers_of_the_story_stay(facts_of):
    made, guests = proposed(facts_of(story_before))
    assert guests and not any(guest["changed"] for guest in guests.values())
    assert made["measure"]["now"] == made["measure"]["proposed"]


def test_hosts_without_guests(facts_of):
    for plant in (reference, nps4_on_one_socket):
        made, guests = proposed(facts_of(plant))
        assert (guests, made["lacking"], made["measure"]["now"]) == ({}, None, None)
