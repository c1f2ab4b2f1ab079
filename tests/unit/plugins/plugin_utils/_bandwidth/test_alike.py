# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies that are alike, compared with each other."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth import record
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.alike import outliers
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.expected import of_pairs

import neutral_facts as neutral
from bandwidth_document import BOOT, RUN, answer, pair_answer
from facts_schema import document_problems


@pytest.mark.parametrize("rates, low", [
    # 80 % of the middle, 100, is 80.
    ([100, 100, 99, 101, 79, 100], [4]), ([100, 100, 99, 101, 81, 100], []),
    # Two kinds of links, as of GPUs that share two NVLinks or one: neither is slow.
    ([100, 100, 100, 50, 50, 50], []), ([100] * 8 + [50] * 3, []), ([100] * 9 + [50] * 3, [9, 10, 11]),
    # Those that do not agree are no measure for others.
    ([100, 120, 85, 110, 89, 50], []),
    # Some that are faster make nobody slow.
    ([50, 50, 50, 50, 100, 100], []),
    ([100, 100, 100, 100, 50], []), ([], [])])
def test_what_is_far_below_all_that_are_alike(rates, low):
    assert list(outliers(dict(enumerate(rates)), 80)) == low


def test_an_outlier_says_what_the_others_reach():
    assert outliers(dict(enumerate([100, 102, 101, 103, 104, 20])), 80)[5] == (5, 101.5)


def test_one_nvlink_pair_at_half_the_rate_of_its_neighbours():
    """Nothing is expected over NVLink, and 54 ordered pairs say what two others should reach."""
    facts = {**neutral.epyc(), "pcie": {"aspm_policy": neutral.ok("default"), "nvswitches": ["0000:c5:00.0"]}}
    bdfs = [gpu["bdf"] for gpu in facts["gpus"]]
    one, other = bdfs[1], bdfs[6]
    pairs = [pair_answer(source, target, write=9.0 if {source, target} == {one, other} else 18.0,
                         read=9.1 if {source, target} == {one, other} else 18.2)
             for source in bdfs for target in bdfs if source != target]
    head = {"host": "pve1", "run_id": RUN, "boot_id": BOOT, "measured_at": "2026-11-29T18:31:00Z",
            "driver_version": "595.58.03"}
    made = record.make_record(answer(bdfs, pairs), facts, of_pairs(facts["gpus"], facts), head=head, not_measured=(),
                              percent=80)
    assert document_problems("bandwidth.json", made) == []
    slow = {(pair["from"], pair["to"]): pair["said"] for pair in made["pairs"] if pair["verdict"] == "slow"}
    assert slow == dict.fromkeys(
        ((one, other), (other, one)), "write 9.0 GB/s, read 9.1 GB/s; write less than the 54 similar ones, which "
                                      "reach 18.0 GB/s, read less than the 54 similar ones, which reach 18.2 GB/s")
    # It is no evidence against the ways over PCI Express.
    assert {one["verdict"] for one in record.entries(made) if one["check"] == "iommu_acs"} == {"healthy"}
