# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.groups import group

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
