# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.groups import Groups, group

from audit_document import GPUS, finding


def only(findings):
    (one,) = group(findings, findings)
    return one


def test_what_was_found_is_counted_and_reasons_that_differ_in_the_place_are_one():
    governors = {0: "powersave", 1: "schedutil", 2: "powersave", 3: "powersave", 5: "powersave"}
    one = only([finding("governor", "fail", subject=f"policy{number}", actual=governor,
                        reason=f"policy{number} uses {governor}") for number, governor in governors.items()])
    assert one.actual == "powersave (4), schedutil (1)"
    assert one.reason == "policy0 uses powersave (and 3 others); policy1 uses schedutil"
    assert (one.who(), one.names()) == ("all 5 CPU policies", "policy0-3, policy5")


def test_a_reason_that_repeats_what_was_found_is_left_out():
    assert only([finding("xid", "fail", subject=GPUS[0], actual=["Xid 79"], reason="Xid 79")]).reason == ""


@pytest.mark.parametrize("verdict", ["unknown", "not_applicable"])
def test_devices_that_cannot_be_judged_for_one_reason_are_one_row(verdict):
    one = only([finding("link", verdict, subject=gpu, reason=f"pcie of {gpu} could not be read: it needs root")
                for gpu in GPUS])
    assert one.reason == "pcie of 0000:01:00.0 could not be read: it needs root (and 7 others)"


def test_risks_of_the_places_are_each_there_once():
    findings = [finding("size", "fail", subject=gpu, actual=512) for gpu in GPUS[:3]]
    for one, risk in zip(findings, ("Ask first.", "Containers: 101.", "Ask first.")):
        one["fix"]["risk"] = risk
    assert only(findings).risk == "Ask first. Containers: 101."


def test_commands_for_all_places_are_one_and_words_are_no_commands():
    one = only([finding("limit", "fail", subject=gpu, fix_class="manual", how=f"nvidia-smi -i {gpu} -pl 600\nLook why.",
                        commands=[f"nvidia-smi -i {gpu} -pl 600"]) for gpu in GPUS[:2]])
    assert one.commands() == [
        'for device in 0000:01:00.0 0000:11:00.0; do nvidia-smi -i "$device" -pl 600; done']
    assert one.words("how") == ["Look why."]


def test_a_document_is_grouped_once_for_all_verdicts():
    findings = [finding("width", "fail", priority="P1", subject=GPUS[0], actual=8, recommended=16),
                finding("width", "pass", subject=GPUS[1], actual=16, recommended=16),
                finding("boost", "fail", actual=False, waived={"reason": "a lab", "expires": "2999-01-01"}),
                finding("width", "pass", subject=GPUS[2], actual=16, recommended=16),
                {**finding("ksm", "unknown", reason="it is not in the report"), "not_recorded": "the report lacks it"},
                finding("width", "fail", priority="P1", subject=GPUS[3], actual=4, recommended=16)]
    groups = Groups(findings)
    assert [(one.subjects, one.of) for one in groups.failed] == [([GPUS[0], GPUS[3]], 4)]
    assert [(one.subjects, one.actual) for one in groups.with_verdict("pass")] == [([GPUS[1], GPUS[2]], "16")]
    assert [one.first["check"] for one in groups.waived] == ["boost"]
    assert groups.with_verdict("unknown") == []
    assert [topic.findings for topic in groups.not_judged] == [[findings[4]]]
    assert groups.tally() == {"things": {"P0": 0, "P1": 1, "P2": 0, "info": 0},
                              "places": {"P0": 0, "P1": 2, "P2": 0, "info": 0}}
