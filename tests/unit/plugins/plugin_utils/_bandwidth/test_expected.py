# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What links can carry, against values that were worked out by hand."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.expected import (
    COMPLETION_HEADER,
    INTEL_PEER_SHARE,
    WRITE_HEADER,
    is_slow,
    of_gpu,
    of_pairs,
    payload_gb_s,
)

import neutral_facts as neutral
from neutral_facts import lacking, merge, ok

# Two below one switch, one beside them on node 0, one on node 1.
NEAR, BESIDE_IT, SAME_NODE, FAR = "0000:03:00.0", "0000:04:00.0", "0000:23:00.0", "0000:83:00.0"


@pytest.mark.parametrize("speed, width, payload, write, read", [
    # 32 x 16 x 128/130 / 8 = 63.015; x 256/280 = 57.614, x 256/276 = 58.449
    (32.0, 16, 256, 57.6, 58.4),
    # 16 x 16 x 128/130 / 8 = 31.508; x 256/280 = 28.807, x 256/276 = 29.225
    (16.0, 16, 256, 28.8, 29.2),
    # 8 x 8 x 128/130 / 8 = 7.877; x 128/152 = 6.633, x 128/148 = 6.813
    (8.0, 8, 128, 6.6, 6.8),
    # 5 x 16 x 8/10 / 8 = 8; x 128/152 = 6.737, x 128/148 = 6.919
    (5.0, 16, 128, 6.7, 6.9),
    # 2.5 x 4 x 8/10 / 8 = 1; x 512/536 = 0.955, x 512/532 = 0.962
    (2.5, 4, 512, 1.0, 1.0),
    # Flits: 64 x 16 x 236/256 / 8 = 118; x 512/528 = 114.42, x 512/524 = 115.30
    (64.0, 16, 512, 114.4, 115.3)])
def test_payload_of_a_link(speed, width, payload, write, read):
    assert payload_gb_s(speed, width, payload, WRITE_HEADER) == write
    assert payload_gb_s(speed, width, payload, COMPLETION_HEADER) == read


def facts_with(**of_gpus) -> dict:
    facts = neutral.epyc()
    facts["gpus"] = [merge(gpu, of_gpus) for gpu in facts["gpus"] if gpu["bdf"] in (NEAR, BESIDE_IT, SAME_NODE, FAR)]
    return facts


def change_port(facts, bdf, **changes):
    facts["ports"] = [merge(port, changes) if port["bdf"] == bdf else port for port in facts["ports"]]
    return facts


def gpu_of(facts, bdf=NEAR):
    return next(gpu for gpu in facts["gpus"] if gpu["bdf"] == bdf)


def figures(facts, bdf=NEAR):
    found = of_gpu(gpu_of(facts, bdf), facts)
    return found["h2d"].gb_s, found["d2h"].gb_s


def test_a_gpu_at_rest_is_expected_to_reach_what_both_ends_can_do():
    # The link rests at 2.5 GT/s; both ends can do 32 GT/s x16, MaxPayload is 256 everywhere.
    facts = facts_with()
    assert figures(facts) == (58.4, 57.6)
    assert of_gpu(gpu_of(facts), facts)["h2d"].why == "32 GT/s x16 at 0000:02:00.0, MaxPayload 256"


def test_lanes_that_are_missing_are_expected_at_the_gpu_but_not_further_up():
    facts = facts_with(pcie={"value": {"link": neutral.link(width=8)}})
    assert figures(facts) == (58.4, 57.6)
    # The uplink of the switch trained to x8: 31.508 x 256/276 and 256/280.
    facts = change_port(facts_with(), "0000:01:00.0", pcie={"value": {"link": neutral.link(width=8)}})
    assert figures(facts) == (29.2, 28.8)
    assert of_gpu(gpu_of(facts), facts)["d2h"].why == "32 GT/s x8 at 0000:00:01.1, MaxPayload 256"


def test_the_smallest_packet_on_the_way_counts():
    # 63.015 x 128/148 = 54.50, x 128/152 = 53.07
    facts = change_port(facts_with(), "0000:00:01.1", pcie={"value": {"max_payload": 128}})
    assert figures(facts) == (54.5, 53.1)
    assert figures(facts, SAME_NODE) == (58.4, 57.6)


@pytest.mark.parametrize("facts, why", [
    (facts_with(pcie=lacking("denied")), "the registers of a device on its path could not be read"),
    (facts_with(pcie={"value": {"max_payload": None}}), "the registers of a device on its path could not be read"),
    (facts_with(path=[]), "the link above it is not known"),
    (merge(facts_with(), {"identity": {"kind": "vm"}}), "the ports of a virtual machine are emulated")])
def test_nothing_is_expected_where_nobody_can_know(facts, why):
    found = of_gpu(gpu_of(facts), facts)
    assert (found["h2d"], found["d2h"]) == ((None, why), (None, why))


def pairs_of(facts):
    return of_pairs(facts["gpus"], facts)


def test_pairs_by_their_path():
    found = pairs_of(facts_with())
    assert len(found) == 12
    assert {(pair.path, pair.expected.gb_s) for pair in found.values()} == {
        ("same switch", 57.6), ("same socket", 57.6), ("across sockets", None)}
    assert found[NEAR, BESIDE_IT].path == "same switch"
    assert found[SAME_NODE, NEAR].path == "same socket"
    assert found[FAR, NEAR].expected.why == ("it crosses the socket interconnect, whose speed is not known")


def test_two_nodes_of_one_socket_are_no_way_across():
    """NPS4, SNC or L3 as NUMA: the second node is on the first package."""
    facts = facts_with()
    facts["numa"]["nodes"][1]["package"] = 0
    found = pairs_of(facts)
    assert (found[FAR, NEAR].path, found[FAR, NEAR].expected.gb_s) == ("same socket", 57.6)


@pytest.mark.parametrize("change", [{"device": "2342"}, {"device": "2e12"}, {"model": "NVIDIA GH200 480GB"}])
def test_nothing_is_expected_of_a_link_that_carries_little(change):
    facts = facts_with(**change)
    found = of_gpu(gpu_of(facts), facts)
    assert (found["h2d"].gb_s, found["d2h"].gb_s) == (None, None)
    assert "is not used for data" in found["h2d"].why
    assert {pair.expected.gb_s for pair in pairs_of(facts).values()} == {None}


def test_a_narrow_uplink_counts_only_for_what_passes_it():
    facts = change_port(facts_with(), "0000:01:00.0", pcie={"value": {"link": neutral.link(width=4)}})
    found = pairs_of(facts)
    # x4 is 15.754; x 256/280 = 14.40
    assert found[NEAR, BESIDE_IT].expected.gb_s == 57.6
    assert found[NEAR, SAME_NODE].expected.gb_s == found[SAME_NODE, NEAR].expected.gb_s == 14.4


@pytest.mark.parametrize("acs", [ok(neutral.acs(redirect=True)), lacking("denied")])
def test_a_port_that_redirects_or_may_sends_it_over_the_uplink(acs):
    facts = change_port(facts_with(), "0000:01:00.0", pcie={"value": {"link": neutral.link(width=4)}})
    facts = change_port(facts, "0000:02:00.0", acs=acs)
    assert pairs_of(facts)[BESIDE_IT, NEAR].expected.gb_s == 14.4


def test_below_one_switch_a_port_above_the_switch_does_not_cut_packets():
    facts = change_port(facts_with(), "0000:00:01.1", pcie={"value": {"max_payload": 128}})
    found = pairs_of(facts)
    assert found[NEAR, BESIDE_IT].expected.gb_s == 57.6
    assert found[NEAR, SAME_NODE].expected.gb_s == 53.1


def test_root_ports_of_intel_carry_less_between_two_gpus():
    # 57.6 x 0.7 = 40.3
    facts = merge(facts_with(), {"cpu": {"vendor": "GenuineIntel"}})
    found = pairs_of(facts)
    assert found[NEAR, SAME_NODE].expected.gb_s == 40.3
    assert found[NEAR, SAME_NODE].expected.why.endswith(", of which root ports of an Intel processor carry about 70 % "
                                                        "between two GPUs")
    # Below one switch no transfer meets them, but where a port redirects.
    assert found[NEAR, BESIDE_IT].expected.gb_s == 57.6
    facts = change_port(facts, "0000:02:00.0", acs=ok(neutral.acs(redirect=True)))
    assert pairs_of(facts)[NEAR, BESIDE_IT].expected.gb_s == 40.3
    # Copies to and from the host are none of that.
    assert figures(facts) == (58.4, 57.6)


@pytest.mark.parametrize("gb_s, slow", [(20.0, False), (16.1, True)])
def test_what_was_published_of_intel_is_not_slow(gb_s, slow):
    """20 GB/s on a Xeon Gold 6430 with cards of 16 GT/s x16, whose links carry 28.8: 28.8 x 0.7 = 20.2."""
    assert is_slow(gb_s, round(payload_gb_s(16.0, 16, 256, WRITE_HEADER) * INTEL_PEER_SHARE, 1)) is slow


def test_risk_is_by_pair():
    facts = change_port(facts_with(iommu_type=ok("DMA-FQ")), "0000:02:00.0", acs=ok(neutral.acs(redirect=True)))
    found = pairs_of(facts)
    assert {key for key, pair in found.items() if pair.at_risk} == {
        (one, other) for one in (NEAR, BESIDE_IT, SAME_NODE, FAR) for other in (NEAR, BESIDE_IT, SAME_NODE, FAR)
        if one != other and NEAR in (one, other)}
    assert found[NEAR, FAR].redirect == ["0000:02:00.0"]
    assert pairs_of(facts_with(iommu_type=lacking("denied")))[NEAR, FAR].at_risk is False     # no port redirects
    facts = change_port(facts_with(iommu_type=ok("DMA")), "0000:02:00.0", acs=lacking("denied"))
    assert pairs_of(facts)[NEAR, FAR].at_risk is None


def test_over_nvlink_pci_express_says_nothing():
    facts = {**facts_with(iommu_type=ok("DMA")), "pcie": {"aspm_policy": ok("default"), "nvswitches": ["0000:c5:00.0"]}}
    facts = change_port(facts, "0000:02:00.0", acs=ok(neutral.acs(redirect=True)))
    pair = pairs_of(facts)[NEAR, BESIDE_IT]
    assert pair.expected == (None, "the GPUs are connected by NVLink: PCI Express gives no expected value")
    assert pair.at_risk is False
    assert figures(facts) == (58.4, 57.6)


def test_without_numa_nodes_on_two_sockets_nobody_can_tell():
    pair = pairs_of(facts_with(numa_node=ok(-1)))[NEAR, SAME_NODE]
    assert (pair.path, pair.expected.gb_s) == ("unknown", None)


@pytest.mark.parametrize("gb_s, expected, percent, slow", [
    (46.08, 57.6, 80, False), (46.07, 57.6, 80, True), (46.07, 57.6, 79, False), (0.1, None, 80, False),
    (90.0, 57.6, 80, False)])
def test_slow_is_below_a_share(gb_s, expected, percent, slow):
    assert is_slow(gb_s, expected, percent) is slow
