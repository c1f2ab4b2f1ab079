# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a recording has nothing for is one line a topic in every report."""
from __future__ import annotations

from xml.etree import ElementTree

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.row import entries
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.groups import Groups
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.junit import junit
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.markdown import markdown_report
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.not_recorded import split
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.terminal import full_report

from audit_document import GPUS, document, finding

WHY, SAFE = "the bug report does not have it", "left out by --safe-mode"


def lacking(check, topic, why=WHY, subject=None):
    return {**finding(check, "unknown", subject=subject, reason=f"no record of {check}: {why}"), "topic": topic,
            "not_recorded": why, "lacks": f"host.x.{check}"}


FINDINGS = [
    lacking("thp_enabled", "memory"), lacking("ksm", "memory"), lacking("swap", "memory"),
    *(lacking("pcie_aer", "pcie", subject=gpu) for gpu in GPUS), lacking("gpu_runtime_pm", "pcie", SAFE),
    finding("denied", "unknown", reason="kernel.log could not be read: it needs root"),
    finding("swappiness", "pass", actual=10),
]
LINES = ["Memory: 3 checks not judged: the bug report does not have it",
         "PCIe: 2 checks not judged: the bug report does not have it (1); left out by --safe-mode (1)"]
SUMS = ["4 checks not judged for lack of data (the bug report does not have it): Memory 3, PCIe 1",
        "1 check not judged for lack of data (left out by --safe-mode): PCIe 1"]


def test_one_line_a_topic():
    told, topics = split(FINDINGS)
    assert [topic.line for topic in topics] == LINES
    assert [one["check"] for one in told] == ["denied", "swappiness"]


def test_the_terminal_has_one_line_a_reason():
    report = full_report(document(FINDINGS), {})
    text = " ".join(report.split())
    assert all(text.count(line) == 1 for line in SUMS)
    assert "thp_enabled" not in text and "denied: kernel.log could not be read: it needs root" in text
    assert text.count("Use a recording that includes it, or audit the host itself.") == 1


def test_so_has_markdown():
    report = markdown_report(document(FINDINGS))
    assert "".join(f"- {line}\n" for line in SUMS) in report
    assert "thp_enabled" not in report and "`denied`" in report


def test_junit_skips_each_check_with_the_reason():
    root = ElementTree.fromstring(junit(document(FINDINGS), "run").encode())
    skipped = {case.get("name"): case.find("skipped").get("message") for case in root.iter("testcase")
               if case.find("skipped") is not None}
    assert skipped["thp_enabled"] == f"unknown: {WHY}"
    assert skipped["pcie_aer"] == f"unknown: {WHY}"
    assert skipped["gpu_runtime_pm"] == f"unknown: {SAFE}"


def test_the_page_has_an_entry_a_topic():
    found = entries(Groups(FINDINGS))
    assert [one.reason for one in found if one.verdict == "unknown"][1:] == LINES
    assert len(found) == 4
