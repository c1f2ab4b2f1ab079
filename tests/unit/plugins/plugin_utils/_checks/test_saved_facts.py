# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts that version 0.1.0 saved are judged: what it did not read is unknown, and never a verdict."""
from __future__ import annotations

import copy
import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.filter.judge import judge as judge_filter
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers.facts import take
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.saved_facts import WHY, completed

from hosts.a100_switches import a100_with_nics
from hosts.story_before import story_before
from open_world import false_verdicts
from verdicts import judged

# What the facts of today have and those of 0.1.0 had not.
NEW = (
    "cpu.frequency.policies[].headroom", "cpu.kinds", "guests.containers.value[].allow[].hint",
    "guests.containers.value[].allow[].path", "guests.containers.value[].devices[].target",
    "guests.containers.value[].memory_nodes", "guests.containers.value[].other_sections",
    "guests.containers.value[].template",
    "guests.containers.value[].trailing_text", "guests.containers.value[].unreadable_rules",
    "guests.vms.value[].memory_nodes", "guests.vms.value[].other_sections", "guests.vms.value[].template",
    "kernel.earlier_boots", "kernel.uptime_seconds", "managers.tuned_reapplies", "managers.unit_links",
    "memory.thp.pmd_kib", "numa.nodes[].gpu", "numa.nodes[].package", "nvidia.container_nodes", "nvidia.fabric",
    "nvidia.init_failures", "nvidia.mismatches", "nvidia.repeats", "nvidia.reset_required",
    "nvidia.smi.gpus[].device_max_gen", "nvidia.smi.gpus[].fabric_health", "nvidia.smi.gpus[].fabric_state",
    "nvidia.smi.gpus[].fabric_status", "nvidia.sxids", "nvidia.xids_of_earlier_boots", "pcie.functions",
    "placement", "ras.events", "rdma.devices[].above", "rdma.devices[].iommu_type", "rdma.devices[].model",
    "rdma.devices[].netdevs", "rdma.devices[].ports[].phys_state", "source", "unparsable",
)


def remove(thing, path):
    name, _dot, rest = path.partition(".")
    every = name.endswith("[]")
    name = name.removesuffix("[]")
    if not isinstance(thing, dict) or name not in thing:
        return
    if not rest:
        del thing[name]
        return
    for inner in (thing[name] or ()) if every else (thing[name],):
        remove(inner, rest)


def as_saved_by_0_1_0(facts):
    saved = json.loads(json.dumps(facts))
    for path in NEW:
        remove(saved, path)
    return saved


@pytest.fixture(params=[story_before, a100_with_nics], ids=lambda plant: plant.__name__)
def whole(request, facts_of):
    return facts_of(request.param)


def test_what_it_lacks_is_completed(whole):
    saved = as_saved_by_0_1_0(whole)
    before = copy.deepcopy(saved)
    found = completed(saved)
    assert take(found) == found                         # of the shape that the schema promises
    assert saved == before
    assert found["source"] is None
    assert found["nvidia"]["fabric"] == {"status": "not_recorded", "value": None, "why": WHY}
    assert found["numa"]["nodes"][0]["gpu"]["why"] == WHY
    assert found["numa"]["nodes"][0]["cpus"] == whole["numa"]["nodes"][0]["cpus"]


def test_whole_facts_stay_as_they_are(whole):
    assert completed(whole) == whole


def test_nothing_is_judged_by_what_it_lacks(whole):
    found = judged(as_saved_by_0_1_0(whole))
    assert false_verdicts(judged(whole), found) == []
    assert found["swappiness", None]["verdict"] == judged(whole)["swappiness", None]["verdict"]
    assert {finding["not_recorded"] for finding in found.values() if "not_recorded" in finding} == {WHY}


def test_the_filter_takes_such_an_audit(whole):
    findings = judge_filter({"schema": "gpuhost.audit/1", "facts": as_saved_by_0_1_0(whole)}, today="2026-11-29")
    assert {finding["verdict"] for finding in findings} >= {"pass", "unknown"}
