# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
import re

import pytest
from ansible_collections.gpuhost.tuning.plugins.action.audit import ARGUMENTS
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._audit.audit import Audit
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.row import entries
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records import host_folder
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report import measured_here
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.groups import Groups
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.markdown import markdown_report
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.terminal import notes

from audit_document import document, finding
from fleet_documents import HOSTILE

RUN = "20261130T010000Z-4f2a"
AGAINST = "This contradicts the recommendation: check the experiment before you apply it to this host"


def entry(check="swappiness", subject=None, kind="experiment", verdict="helps", message="helps: +4.1 %", boot_id="now"):
    return {"check": check, "subject": subject, "kind": kind, "verdict": verdict, "said": message, "run_id": RUN,
            "measured_at": "2026-11-30T01:00:00Z", "boot_id": boot_id}


def attached(findings, *measured, boot_id="now"):
    measured_here.attach(findings, measured, boot_id)
    return findings


def test_what_was_measured_is_at_the_findings_of_its_check_and_subject():
    findings = attached([finding("swappiness", "fail"), finding("link", "pass", subject="0000:01:00.0"),
                         finding("link", "pass", subject="0000:41:00.0"), finding("other", "pass")],
                        entry(), entry("link", "0000:41:00.0", "bandwidth", "slow", "slow: 20 of 55 GB/s"))
    assert [len(one["measured_here"]) for one in findings] == [1, 0, 1, 0]
    assert findings[0]["measured_here"] == [{"kind": "experiment", "verdict": "helps", "said": "helps: +4.1 %",
                                             "run_id": RUN, "measured_at": "2026-11-30T01:00:00Z", "same_boot": True}]


def test_what_has_no_subject_is_about_all_of_them():
    findings = attached([finding("governor", "fail", subject=f"policy{number}") for number in range(3)],
                        entry("governor"))
    assert all(len(one["measured_here"]) == 1 for one in findings)


@pytest.mark.parametrize("measured, now, same", [
    ("a", "a", True), ("a", "b", False), (None, "b", None), ("a", None, None)])
def test_a_reboot_since_is_known_or_not(measured, now, same):
    one, = attached([finding("swappiness", "fail")], entry(boot_id=measured), boot_id=now)
    assert one["measured_here"][0]["same_boot"] is same


def test_a_verdict_and_a_plan_stay_as_they_are():
    findings = [finding("swappiness", "fail"), finding("swappiness", "pass"), finding(
        "swappiness", "fail", waived={"reason": "a lab", "expires": "2027-01-01"}, not_planned_because="contested")]
    before = copy.deepcopy(findings)
    for one in attached(findings, entry(verdict="hurts")):
        del one["measured_here"]
    for one in before:
        del one["measured_here"]
    assert findings == before


def message(**more):
    return measured_here.sentences(attached([finding("swappiness", "fail")], entry(**more))[0])


def test_a_sentence_has_its_date_and_run():
    assert message() == [f"helps: +4.1 % (experiment of 2026-11-30T01:00:00Z, run {RUN})"]


def test_a_reboot_makes_a_bandwidth_doubtful_and_an_experiment_not():
    assert message(kind="bandwidth", boot_id="old") == [
        f"helps: +4.1 % (bandwidth of 2026-11-30T01:00:00Z, run {RUN}, before the last reboot)"]
    assert "reboot" not in message(boot_id="old")[0]


def test_harm_is_said_to_speak_against_the_recommendation():
    assert message(verdict="hurts", message="hurts: -4.0 %") == [
        f"hurts: -4.0 % (experiment of 2026-11-30T01:00:00Z, run {RUN}). {AGAINST}"]


def test_a_record_of_an_earlier_release_has_none():
    old = finding("swappiness", "fail")
    del old["measured_here"]
    assert measured_here.sentences(old) == []


# -- where people read it ----------------------------------------------------------------------------------------------


def test_the_report_says_it_at_the_finding_and_in_a_table_of_all():
    findings = attached([finding("swappiness", "fail"), finding("thp", "pass", subject=None)],
                        entry(verdict="hurts", message="hurts: -4.0 %"), entry("thp", message="helps: +12.4 %"))
    text = markdown_report(document(findings))
    assert f"- measured here: hurts: -4.0 % (experiment of 2026-11-30T01:00:00Z, run {RUN}). {AGAINST}\n" in text
    table = text[text.index("## Findings that were measured here"):]
    assert f"| `swappiness` | host | fail | hurts: -4.0 % (experiment of 2026-11-30T01:00:00Z, run {RUN}). " in table
    assert f"| `thp` | host | pass | helps: +12.4 % (experiment of 2026-11-30T01:00:00Z, run {RUN}) |" in table


def test_devices_with_different_results_are_told_apart_and_alike_ones_are_one_line():
    gpus = ["0000:01:00.0", "0000:11:00.0", "0000:21:00.0"]
    findings = [finding("link", "fail", subject=gpu) for gpu in gpus]
    text = markdown_report(document(attached(findings, entry("link", gpus[0], "bandwidth", "slow", "slow: 20 GB/s"),
                                             entry("link", gpus[1], "bandwidth", "slow", "slow: 20 GB/s"))))
    assert "- measured here (0000:01:00.0, 0000:11:00.0): slow: 20 GB/s" in text
    assert "| `link` | 2 of 3 GPUs: 0000:01:00.0, 0000:11:00.0 | fail | slow: 20 GB/s" in text
    text = markdown_report(document(attached(findings, entry("link", None, "bandwidth", "healthy", "54 of 55 GB/s"))))
    assert "- measured here: 54 of 55 GB/s" in text
    assert text.count("| `link` |") == 1 and "| `link` | all 3 GPUs | fail | 54 of 55 GB/s" in text


def test_the_page_says_it_beside_the_reason():
    one, = entries(Groups(attached([finding("swappiness", "fail", reason="it is 60")], entry())))
    assert one.reason == f"it is 60; measured here: helps: +4.1 % (experiment of 2026-11-30T01:00:00Z, run {RUN})"
    one, = entries(Groups(attached([finding("swappiness", "fail")], entry(message="x" * 500))))
    assert one.reason.startswith("measured here: xxx") and len(one.reason) < 300


def test_a_change_that_was_measured_to_hurt_is_not_planned_in_silence():
    def noted(planned, **more):
        one, = attached([finding("swappiness", "fail")], entry(**more))
        one["fix"]["planned"] = planned
        return [note for note in notes(document([one])) if "showed a loss" in note]
    assert noted(True, verdict="hurts") == [
        f"planned although an experiment on this host showed a loss: swappiness (experiment {RUN}; its overrides.yml "
        "excludes it)"]
    assert noted(False, verdict="hurts") == noted(True, verdict="helps") == []


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "gpuhost.measured/2"}'])
def test_a_file_of_measurements_that_cannot_be_used_ends_an_audit_before_the_host_is_read(tmp_path, text):
    (tmp_path / "pve1").mkdir()
    (tmp_path / "pve1" / "measured.json").write_text(text)
    arguments = {name: one.get("default") for name, one in ARGUMENTS.items()}
    with pytest.raises(host_folder.RecordError, match=r"measured\.json"):
        Audit("pve1", arguments | {"report_dir": str(tmp_path)})


def test_a_hostile_text_is_only_text():
    text = markdown_report(document(attached([finding("swappiness", "fail")], entry(message=HOSTILE))))
    assert "window.hacked" in text and not re.search(r"(?<!\\)[<`|](?=script|img)", text)
