# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies at once on the controller: what they share, and the faults that only show then. Expectations by hand."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth import record, together
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.expected import of_pairs
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.expected_together import of_flows

import neutral_facts as neutral
from bandwidth_document import BOOT, RUN, answer, pair_answer
from facts_schema import document_problems
from neutral_facts import merge, ok

# Two below one switch, one beside them on node 0, one on node 1: 57.6 GB/s on every link for writes, 58.4 for reads.
NEAR, BESIDE_IT, SAME_NODE, FAR = "0000:03:00.0", "0000:04:00.0", "0000:23:00.0", "0000:83:00.0"
ALL = (NEAR, BESIDE_IT, SAME_NODE, FAR)


def host(ports=None, **changes):
    facts = merge(neutral.epyc(), changes)
    facts["gpus"] = [gpu for gpu in facts["gpus"] if gpu["bdf"] in ALL]
    facts["ports"] = [merge(port, ports or {}) if port["bdf"] == "0000:02:00.0" else port for port in facts["ports"]]
    return facts


def expected(*flows, facts=None):
    facts = facts or host()
    return [one.gb_s for one in of_flows(flows, facts, of_pairs(facts["gpus"], facts))]


def test_both_ways_of_a_link_are_two():
    assert expected((NEAR, BESIDE_IT), (BESIDE_IT, NEAR)) == [57.6, 57.6]
    assert expected(("host", NEAR), (NEAR, "host")) == [58.4, 57.6]


def test_copies_in_the_same_direction_share_a_link():
    # Both leave the switch over its uplink: 57.6 / 2.
    assert expected((NEAR, SAME_NODE), (BESIDE_IT, SAME_NODE)) == [28.8, 28.8]
    # One that passes to another processor takes its share, and has no expectation itself.
    assert expected((NEAR, SAME_NODE), (BESIDE_IT, FAR)) == [28.8, None]
    # One that comes to the switch goes the other way.
    assert expected((NEAR, SAME_NODE), (SAME_NODE, BESIDE_IT)) == [57.6, 57.6]


def test_a_detour_is_not_what_is_expected():
    facts = host({"acs": ok(neutral.acs(redirect=True))})
    assert expected((NEAR, BESIDE_IT), (BESIDE_IT, NEAR), facts=facts) == [57.6, 57.6]


@pytest.mark.parametrize("facts", [
    host(cpu={"vendor": "GenuineIntel"}), host(identity={"kind": "vm"}),
    {**host(), "pcie": {"aspm_policy": ok("default"), "nvswitches": ["0000:c5:00.0"]}}])
def test_nothing_is_expected_of_pairs_where_nobody_knows(facts):
    assert expected((NEAR, SAME_NODE), (SAME_NODE, NEAR), facts=facts) == [None, None]


def group(kind, name, flows, rates, total=None, verdict="healthy", message="fine"):
    gpus = list(dict.fromkeys(end for flow in flows for end in flow if end != "host"))
    return {"kind": kind, "name": name, "gpus": gpus,
            "verdict": verdict, "said": message, "gb_s": sum(rates) if total is None else total,
            "flows": [{"from": source, "to": target, "gb_s": rate} for (source, target), rate in zip(flows, rates)]}


def made(*groups, facts=None, pairs=()):
    facts = facts or host()
    head = {"host": "pve1", "run_id": RUN, "boot_id": BOOT, "measured_at": "2026-11-29T18:31:00Z",
            "driver_version": "595.58.03"}
    document = record.make_record(answer(ALL, pairs, concurrent=list(groups)), facts, of_pairs(facts["gpus"], facts),
                                  head=head, not_measured=(), percent=80)
    assert document_problems("bandwidth.json", document) == []
    return document


def both(rates, **changes):
    return group("both_ways", f"{NEAR} <-> {BESIDE_IT}", [(NEAR, BESIDE_IT), (BESIDE_IT, NEAR)], rates, **changes)


def test_both_ways_of_a_pair_in_good_order():
    document = made(both([51.0, 52.0]))
    (found,) = document["concurrent"]
    assert (found["verdict"], found["expected_gb_s"], found["checks"]) == ("healthy", 115.2, [])
    assert found["said"] == f"2 concurrent copies 103.0 of 115.2 GB/s expected, the slowest {NEAR} -> {BESIDE_IT} 51.0"
    assert record.tally(document) == {"healthy": 4 + 12 + 1}


def test_a_detour_is_named_with_the_ports_that_make_it():
    """Each direction alone is sound, and both together carry what one does."""
    facts = host({"acs": ok(neutral.acs(redirect=True))})
    document = made(both([25.0, 25.1]), facts=facts)
    (found,) = document["concurrent"]
    assert (found["verdict"], found["checks"]) == ("slow", ["iommu_acs"])
    assert found["said"].endswith("; a detour: both directions go up and down the link above the switch, as "
                                  "0000:02:00.0 redirects (check iommu_acs)")
    assert {pair["verdict"] for pair in document["pairs"]} == {"healthy"}
    (entry,) = [one for one in record.entries(document) if one["check"] == "iommu_acs"]
    assert entry["verdict"] == "slow"
    assert entry["said"].startswith(f"12 pairs, 12 healthy; {NEAR} <-> {BESIDE_IT}: 2 concurrent copies 50.1 of 115.2 ")


def test_a_pair_behind_the_processor_has_no_detour():
    document = made(group("both_ways", "x", [(NEAR, SAME_NODE), (SAME_NODE, NEAR)], [30.0, 30.0]))
    (found,) = document["concurrent"]
    assert (found["verdict"], found["checks"]) == ("slow", [])
    assert found["said"].endswith("; they go through the root complex, which may be slower than the links")
    assert {one["verdict"] for one in record.entries(document) if one["check"] == "iommu_acs"} == {"healthy"}


SHIFT = [(NEAR, SAME_NODE), (BESIDE_IT, FAR), (SAME_NODE, NEAR), (FAR, BESIDE_IT)]


@pytest.mark.parametrize("rates, said", [
    # 40.96 is 80 % of what a GPU alone writes, 51.2.
    ([6.0, 6.1, 50.0, 50.0], "; writes collapse: 2 GPUs below 0000:00:01.1 write to GPUs behind 2 other root ports at "
                             "once and reach 12.1 GB/s together; the slowest of them alone reaches 51.2"),
    ([20.4, 20.5, 50.0, 50.0], "; writes collapse: 2 GPUs below 0000:00:01.1 write to GPUs behind 2 other root ports "
                               "at once and reach 40.9 GB/s together; the slowest of them alone reaches 51.2"),
    ([20.5, 20.5, 50.0, 50.0], ""),
    # To the switch come two, each with a share of 28.8: half of that is 14.4.
    ([28.0, 28.0, 14.3, 50.0], f"; {SAME_NODE} -> {NEAR} 14.3 of 28.8 GB/s, its share of the links")])
def test_writes_that_collapse_are_named(rates, said):
    (found,) = made(group("shift", "shift by 2", SHIFT, rates))["concurrent"]
    assert found["said"].partition(";")[1] + found["said"].partition(";")[2] == said
    assert (found["verdict"], found["checks"]) == ("slow" if said else "healthy", [])


# Eight GPUs, two below each of four switches, of which two are at each processor: what each one writes three places on.
EIGHT = [gpu["bdf"] for gpu in neutral.epyc()["gpus"]]
BY_THREE = [(bdf, EIGHT[(at + 3) % 8]) for at, bdf in enumerate(EIGHT)]


@pytest.mark.parametrize("to_others, switches", [
    # Published of such a host: 36.8 alone, 2.7 together. Two switches of a processor send to the other one, and 40 % of
    # what one GPU alone reaches, 14.7, is what each can count on.
    (1.35, 4), (7.3, 3), (7.4, 0),
    # A way between the processors that carries 40 in all is full, and no switch is at fault.
    (13.3, 0)])
def test_a_full_way_between_two_processors_is_no_collapse(to_others, switches):
    facts = neutral.epyc()
    pairs = [pair_answer(one, other, write=36.8) for one, other in BY_THREE]
    rates = [10.0 if one == EIGHT[0] and to_others > 2 else to_others for one, _other in BY_THREE]
    made = together.make_group(group("shift", "shift by 3", BY_THREE, rates), together.Host(
        facts, of_pairs(facts["gpus"], facts), {(one["from"], one["to"]): one["write"]["gb_s"] for one in pairs}, 80))
    assert made["said"].count("writes collapse: 2 GPUs below") == switches


def test_a_slow_pair_is_no_collapse():
    """What one GPU alone does not reach, two together need not."""
    pairs = [pair_answer(NEAR, SAME_NODE, write=10.0)]
    (found,) = made(group("shift", "shift by 2", SHIFT, [5.0, 6.0, 50.0, 50.0]), pairs=pairs)["concurrent"]
    assert "collapse" not in found["said"]


@pytest.mark.parametrize("rates, verdict", [([40.0, 38.0], "healthy"), ([30.0, 27.9], "slow")])
def test_a_gpu_with_the_host_both_ways(rates, verdict):
    # 58.4 and 57.6 are 116.0, and half of that is 58.
    (found,) = made(group("host_both_ways", f"host <-> {NEAR}", [("host", NEAR), (NEAR, "host")], rates))["concurrent"]
    assert (found["verdict"], found["expected_gb_s"]) == (verdict, 116.0)


def test_nothing_is_expected_of_copies_by_kernels():
    name = f"{NEAR} -> {BESIDE_IT} by a kernel"
    (found,) = made(group("by_kernel", name, [(NEAR, BESIDE_IT)], [1.0]))["concurrent"]
    assert (found["verdict"], found["said"], found["expected_gb_s"]) == ("healthy", "by a kernel 1.0 GB/s", None)


@pytest.mark.parametrize("verdict", ["hang", "wrong_data", "inconclusive", "unsupported"])
def test_a_verdict_of_the_module_stands(verdict):
    document = made(both([None, None], total=0, verdict=verdict, message="no answer") | {"gb_s": None})
    assert (document["concurrent"][0]["verdict"], document["concurrent"][0]["said"]) == (verdict, "no answer")
    assert record.harm(document) == ([f"{NEAR} <-> {BESIDE_IT}: {verdict.replace('_', ' ')}: no answer"] if verdict in (
        "hang", "wrong_data") else [])
