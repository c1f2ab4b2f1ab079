# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.guests.guests import size_mib

import neutral_facts as neutral
from neutral_facts import merge, ok


def of_container(fragment, facts=None):
    facts = merge(facts or neutral.epyc(), {"guests": {"containers": {"value": [fragment]}}})
    return derive(facts)["derived"]["gpu_containers"][0]


@pytest.mark.parametrize("text, mib", [("64m", 64), ("16G", 16384), ("1t", 1 << 20), ("1048576", 1), ("2048k", 2),
                                       ("50%", None), ("", None), (None, None), ("lots", None)])
def test_size_of_a_tmpfs(text, mib):
    assert size_mib(text) == mib


def test_gpus_are_found_by_the_containers_that_the_facts_name():
    gpus = [{**gpu, "containers": ["101"] if gpu["minor"]["value"] in (0, 1) else []} for gpu in neutral.epyc()["gpus"]]
    found = of_container({}, {**neutral.epyc(), "gpus": gpus})
    assert [gpu["bdf"] for gpu in found["gpus"]] == ["0000:23:00.0", "0000:24:00.0"]
    assert (found["near_cpus"], found["shm_wanted_mib"]) == ("0-63,128-191", 2048)


def test_a_container_without_a_gpu_is_not_among_them():
    facts = merge(neutral.epyc(), {"guests": {"containers": {"value": [{"gpu_devices": []}]}}})
    assert derive(facts)["derived"]["gpu_containers"] == []


FAR = "0000:83:00.0 is at node1 (64-127,192-255)"


@pytest.mark.parametrize("cpus, memory, far, bound", [
    ("0-3", None, [FAR], "0-3"), ("60-70", None, [], "60-70"), (None, None, [], None),
    ("60-70", "0", ["0000:83:00.0 is at node1, the memory at node 0"], "CPUs 60-70 and memory of node 0"),
    (None, "1", ["0000:03:00.0 is at node0, the memory at node 1"], "memory of node 1"),
    (None, "0-1", [], "memory of node 0-1"), ("0-255", "0,1", [], "CPUs 0-255 and memory of node 0,1"),
    ("0-3", "0", [FAR, "0000:83:00.0 is at node1, the memory at node 0"], "CPUs 0-3 and memory of node 0")])
def test_cpus_and_memory_beside_the_gpus(cpus, memory, far, bound):
    gpus = [gpu for gpu in neutral.epyc()["gpus"] if gpu["bdf"] in ("0000:03:00.0", "0000:83:00.0")]
    found = of_container({"cpus": cpus, "memory_nodes": memory}, {**neutral.epyc(), "gpus": gpus})
    assert (found["far"], found["bound"]) == (ok(far), bound)


@pytest.mark.parametrize("cpus, memory, text", [("0-", None, "0-"), ("0-3", "x", "x")])
def test_what_is_no_list_is_beside_nothing(cpus, memory, text):
    found = of_container({"cpus": cpus, "memory_nodes": memory}, neutral.epyc())
    assert found["far"] == {"status": f"{text!r} is no list", "value": None}


def test_a_gpu_of_an_unknown_node_is_neither_near_nor_far():
    gpus = [{**gpu, "numa_node": ok(-1)} for gpu in neutral.epyc()["gpus"][:1]]
    found = of_container({"cpus": "0-3"}, {**neutral.epyc(), "gpus": gpus})
    assert found["far"] == {"status": "nobody knows at which node 0000:03:00.0 is", "value": None}
    assert found["near_cpus"] is None
