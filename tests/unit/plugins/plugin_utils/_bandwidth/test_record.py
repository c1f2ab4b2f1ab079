# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what the module answered to the record, and to evidence for checks."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth import result
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth import record as bandwidth_record
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.expected import of_pairs

import neutral_facts as neutral
from bandwidth_document import BOOT, RUN, answer, gpu_answer, pair_answer
from facts_schema import document_problems

# Two below one switch, one at the other processor. Expected from the host 58.4 and to it 57.6, between the first 57.6.
NEAR, BESIDE_IT, SAME_NODE, FAR = "0000:03:00.0", "0000:04:00.0", "0000:23:00.0", "0000:83:00.0"
HEAD = {"host": "pve1", "run_id": RUN, "boot_id": BOOT, "measured_at": "2026-11-29T18:31:00Z",
        "driver_version": "595.58.03"}


def made(module_answer, percent=80, not_measured=(), facts=None):
    facts = facts or neutral.epyc()
    gpus = [gpu for gpu in facts["gpus"] if gpu["bdf"] in (NEAR, BESIDE_IT, SAME_NODE, FAR)]
    record = bandwidth_record.make_record(module_answer, facts, of_pairs(gpus, facts), head=HEAD,
                                          not_measured=not_measured, percent=percent)
    assert document_problems("bandwidth.json", record) == []
    return record


def pair(record, source, target):
    return next(one for one in record["pairs"] if (one["from"], one["to"]) == (source, target))


def test_a_sound_host():
    record = made(answer([NEAR, BESIDE_IT, FAR]), not_measured=[{"subject": "0000:c1:00.0", "reason": "given to a VM"}])
    assert record["gpus"][0] == {
        "bdf": NEAR, "uuid": f"GPU-{NEAR}", "name": "NVIDIA RTX PRO 6000", "numa_node": 0, "verdict": "healthy",
        "said": "from the host 55.3 of 58.4 GB/s expected, to the host 52.9 of 57.6 GB/s expected",
        "h2d": {"gb_s": 55.3, "expected_gb_s": 58.4}, "d2h": {"gb_s": 52.9, "expected_gb_s": 57.6},
        "d2d": {"gb_s": 1512.4}, "link": {"speed_gt_s": 32.0, "width": 16}}
    assert pair(record, NEAR, BESIDE_IT) == {
        "from": NEAR, "to": BESIDE_IT, "path": "same switch", "can_access": True, "verdict": "healthy",
        "said": "write 51.2 of 57.6 GB/s expected, read 48.7 of 57.6 GB/s expected",
        "read": {"gb_s": 48.7, "latency_us": 1.9}, "write": {"gb_s": 51.2, "latency_us": 1.4}, "expected_gb_s": 57.6,
        "expected_why": "32 GT/s x16 at 0000:02:00.0, MaxPayload 256"}
    across = pair(record, FAR, NEAR)
    assert (across["path"], across["expected_gb_s"]) == ("across sockets", None)
    assert across["said"] == "write 51.2 GB/s, read 48.7 GB/s"
    assert record["not_measured"] == [{"subject": "0000:c1:00.0", "reason": "given to a VM"}]
    assert bandwidth_record.tally(record) == {"healthy": 9}
    assert bandwidth_record.harm(record) == []


def test_what_lacks_more_than_a_fifth_is_slow():
    # 80 % of 57.6 is 46.08, 80 % of 58.4 is 46.72.
    record = made(answer([gpu_answer(NEAR, d2h=46.0), gpu_answer(BESIDE_IT, h2d=46.8), FAR],
                         [pair_answer(NEAR, BESIDE_IT, read=9.0), pair_answer(NEAR, FAR, write=1.0)]))
    assert [gpu["verdict"] for gpu in record["gpus"]] == ["slow", "healthy", "healthy"]
    assert pair(record, NEAR, BESIDE_IT)["verdict"] == "slow"
    assert pair(record, BESIDE_IT, NEAR)["verdict"] == "healthy"
    # Where nobody knows what to expect nothing is slow.
    assert pair(record, NEAR, FAR)["verdict"] == "healthy"
    assert bandwidth_record.tally(record) == {"slow": 2, "healthy": 7}
    assert bandwidth_record.harm(record) == []


def facts_with(fragment, ports=None):
    """The facts of the host with a fragment laid over the first GPU, and over the port above it."""
    facts = neutral.epyc()
    facts["gpus"] = [neutral.merge(gpu, fragment) if gpu["bdf"] == NEAR else gpu for gpu in facts["gpus"]]
    facts["ports"] = [neutral.merge(port, ports or {}) if port["bdf"] == "0000:02:00.0" else port
                      for port in facts["ports"]]
    return facts


@pytest.mark.parametrize("fragment, changed, hints", [
    ({}, {"d2h": {"gb_s": 9.0}}, ""),
    ({}, {"d2h": {"gb_s": 9.0}, "bound": False}, "; possible causes: the host memory was not on its NUMA node"),
    ({"pcie": {"value": {"extended_tags": False, "max_read_request": 128}}}, {"h2d": {"gb_s": 9.0}},
     "; possible causes: it is limited to 32 outstanding reads (check pcie_extended_tags), MaxReadReq is 128 bytes "
     "(check pcie_maxreadreq)"),
    # Reads of the GPU explain no copy to the host, and nothing has to be explained of one that is not slow.
    ({"pcie": {"value": {"extended_tags": False}}}, {"d2h": {"gb_s": 9.0}}, ""),
    ({"pcie": {"value": {"extended_tags": False}}}, {}, "")])
def test_a_gpu_that_is_slow_says_where_to_look(fragment, changed, hints):
    gpu = made(answer([gpu_answer(NEAR) | changed]), facts=facts_with(fragment))["gpus"][0]
    assert gpu["said"].partition(" GB/s expected, to the host ")[2].partition("expected")[2] == hints


@pytest.mark.parametrize("fragment, ports, target, hints", [
    ({}, {}, BESIDE_IT, ""),
    ({}, {}, SAME_NODE, "; possible causes: they go through the root complex, which may be slower than the links"),
    ({"iommu_type": neutral.ok("DMA-FQ")}, {}, BESIDE_IT, "; possible causes: the IOMMU translates them (check "
                                                          "iommu_acs)"),
    ({}, {"acs": neutral.ok(neutral.acs(redirect=True))}, BESIDE_IT,
     "; possible causes: transfers are redirected to the root complex at 0000:02:00.0 (check iommu_acs)")])
def test_a_pair_that_is_slow_says_where_to_look(fragment, ports, target, hints):
    record = made(answer([NEAR, target], [pair_answer(NEAR, target, write=9.0)]), facts=facts_with(fragment, ports))
    assert pair(record, NEAR, target)["said"] == ("write 9.0 of 57.6 GB/s expected, read 48.7 of 57.6 GB/s expected"
                                                  + hints)
    assert "to look at" not in pair(record, target, NEAR)["said"]


def test_the_share_is_the_users():
    assert made(answer([gpu_answer(NEAR, d2h=46.0)]), percent=75)["gpus"][0]["verdict"] == "healthy"
    assert made(answer([NEAR]), percent=95)["gpus"][0]["verdict"] == "slow"


@pytest.mark.parametrize("verdict, message, shown", [
    ("wrong_data", "3 of 1024 words differ at 4 KiB", "3 of 1024 words differ at 4 KiB, from the host 9.0 of 58.4 GB/s "
     "expected, to the host 52.9 of 57.6 GB/s expected"),
    ("inconclusive", None, "inconclusive, from the host 9.0 of 58.4 GB/s expected, to the host 52.9 of 57.6 GB/s "
     "expected")])
def test_a_verdict_of_the_module_stands_whatever_the_speed(verdict, message, shown):
    gpu = made(answer([gpu_answer(NEAR, verdict, message, h2d=9.0)]))["gpus"][0]
    assert (gpu["verdict"], gpu["said"]) == (verdict, shown)


def test_what_was_not_finished_has_no_figures():
    record = made(answer([gpu_answer(NEAR, "hang", "no answer in 60 s", h2d=None, d2h=None)], stopped="a GPU hung"))
    assert record["gpus"][0]["h2d"] is None
    assert bandwidth_record.harm(record) == [f"{NEAR}: hang: no answer in 60 s", "stopped: a GPU hung"]


def test_a_verdict_that_nobody_knows_is_an_error():
    with pytest.raises(ValueError, match="'fine', wanted one of wrong_data"):
        made(answer([gpu_answer(NEAR, "fine")]))


def test_a_gpu_that_left_the_bus_meanwhile_is_kept_without_expectation():
    gpu = made(answer(["0000:ff:00.0"]))["gpus"][0]
    assert gpu["said"] == "from the host 55.3 GB/s, to the host 52.9 GB/s"


def test_the_figures_of_every_size_are_kept_and_nothing_else_of_the_module():
    given = gpu_answer(NEAR)
    sizes = [{"bytes": 1 << 20, "gb_s": 21.5, "settled": True}, {"bytes": 256 << 20, "gb_s": 55.3, "settled": True}]
    given["h2d"] |= {"by_size": sizes, "settled": True}
    given |= {"bound": True, "link_expected": None, "wrong": []}
    gpu = made(answer([given]))["gpus"][0]
    assert gpu["h2d"] == {"gb_s": 55.3, "expected_gb_s": 58.4, "by_size": [
        {"bytes": 1 << 20, "gb_s": 21.5}, {"bytes": 256 << 20, "gb_s": 55.3}]}


def test_what_the_module_makes_of_its_measurement_is_taken():
    copy = {"gb_s": 55.3, "settled": True, "by_size": [{"bytes": 4096, "gb_s": 55.3, "settled": True}]}
    measured = {"name": "NVIDIA L40S", "uuid": "GPU-1", "numa_node": None, "bound": True, "sizes": [4096], "h2d": copy,
                "d2h": {**copy, "gb_s": 52.0}, "d2d": copy, "wrong": [], "link": {"speed_gt_s": 16.0, "width": 16}}
    chosen = {"bdf": NEAR, "uuid": None, "link_expected": {"speed_gt_s": 32.0, "width": 16}}
    gpus = [result.gpu_record(result.empty_gpu(chosen), measured),
            result.judged(result.empty_gpu({**chosen, "bdf": BESIDE_IT}), "hang", "no answer")]
    transfer = {**copy, "latency_us": 1.5}
    offered = {"can_access": True, "enabled": True, "performance_rank": 0, "native_atomics": False, "sizes": [4096],
               "read": transfer, "write": transfer,
               "wrong": [{"copied": "write", "first_offset": 8, "wrong_bytes": 4, "bytes": 4096}]}
    pairs = [result.pair_record(result.empty_pair(NEAR, FAR), offered),
             result.pair_record(result.empty_pair(FAR, NEAR), {**offered, "enabled": False, "wrong": []})]
    record = made({**answer([]), "gpus": gpus, "pairs": pairs, "hung": [BESIDE_IT], "abandoned": None, "msg": "x"})
    assert [(one["verdict"], one["said"]) for one in [*record["gpus"], *record["pairs"]]] == [
        ("slow", "the link runs at 16 GT/s x16 under load, but both ends support 32 GT/s x16, from the host 55.3 of "
                 "58.4 GB/s expected, to the host 52.0 of 57.6 GB/s expected"),
        ("hang", "no answer"),
        ("wrong_data", "write: 1 of 1 copies were corrupted, in the first of them 4 of 4096 bytes from offset 8 on, "
                       "write 55.3 GB/s, read 55.3 GB/s"),
        ("staged", f"the driver allows no peer access from {FAR} to {NEAR}, so copies go through the host's memory: "
                   "read 55.3, write 55.3 GB/s, and the data of all 0 copies was correct, "
                   "write 55.3 GB/s, read 55.3 GB/s")]
    assert set(bandwidth_record.VERDICTS) == set(result.VERDICTS)


def test_evidence_for_checks():
    pairs = [pair_answer(NEAR, BESIDE_IT, write=20.0), pair_answer(BESIDE_IT, NEAR, "wrong_data", "1 word")]
    record = made(answer([gpu_answer(NEAR, d2h=40.0), BESIDE_IT], pairs))
    found = {(one["check"], one["subject"]): (one["verdict"], one["said"]) for one in bandwidth_record.entries(record)}
    slow = ("slow", "from the host 55.3 of 58.4 GB/s expected, to the host 40.0 of 57.6 GB/s expected; under load the "
                    "link ran at 32 GT/s x16")
    assert [found[check, NEAR] for check in ("pcie_link_width", "pcie_link_speed", "pcie_bottleneck")] == [slow] * 3
    # What only the reads of the GPU depend on is not slow for its writes.
    reads = ("healthy", "from the host 55.3 of 58.4 GB/s expected")
    assert [found[check, NEAR] for check in ("pcie_maxreadreq", "pcie_extended_tags")] == [reads] * 2
    assert found["iommu_acs", None] == (
        "wrong_data", f"2 pairs, 1 wrong data, 1 slow: {BESIDE_IT} -> {NEAR}: 1 word, write 51.2 of 57.6 GB/s "
                      "expected, read 48.7 of 57.6 GB/s expected and 1 more")
    assert len(found) == 11


def test_evidence_without_pairs_or_figures():
    record = made(answer([gpu_answer(NEAR, "unsupported", "no driver library", h2d=None, d2h=None)]))
    assert {one["check"] for one in bandwidth_record.entries(record)} == {"pcie_link_width", "pcie_link_speed",
                                                                          "pcie_bottleneck"}


def test_every_check_that_gets_evidence_exists():
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks import catalogue

    named = {*bandwidth_record.LINK_CHECKS, *bandwidth_record.READ_CHECKS, bandwidth_record.PEER_CHECK}
    assert named <= {check.id for check in catalogue.load([])}
