# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from xml.etree import ElementTree

import junitparser
import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.junit import junit

from audit_document import GPUS, document, finding
from fleet_documents import hostile_document

RUN = "20261129T183000Z-4f2a"
# The Jenkins schema of JUnit files, as far as we use it: what each element may have.
ATTRIBUTES = {
    "testsuites": set(), "properties": set(), "property": {"name", "value"},
    "testsuite": {"name", "hostname", "timestamp", "id", "package", "time", "tests", "errors", "failures", "skipped"},
    "testcase": {"classname", "name", "time"}, "failure": {"type", "message"}, "skipped": {"message"},
}


@pytest.fixture
def text():
    return junit(document([
        finding("numa_balancing", "fail", priority="P1", actual="1", recommended="0", reason="8 GPUs on two nodes",
                title="Automatic NUMA balancing is off"),
        finding("pcie_link_width", "pass", subject="0000:01:00.0", actual=16),
        finding("swappiness", "not_applicable", reason="no swap is active"),
        finding("pcie_aer", "unknown", subject="0000:11:00.0", reason="all ones"),
        finding("iommu_acs", "fail", priority="P0", waived={"reason": "a lab", "expires": "2027-01-01"}),
    ]), RUN)


def cases(text):
    (suite,) = junitparser.JUnitXml.fromstring(text.encode())
    return suite, {case.name: case for case in suite}


def test_what_is_to_improve_fails_and_the_rest_passes_or_is_skipped_with_its_reason(text):
    suite, by_name = cases(text)
    assert (suite.name, suite.hostname, suite.timestamp) == ("gpuhost pve1", "pve1", "2026-11-29T18:30:00")
    assert (suite.tests, suite.failures, suite.skipped, suite.errors) == (5, 1, 3, 0)
    (failure,) = by_name["numa_balancing"].result
    assert isinstance(failure, junitparser.Failure)
    assert failure.type == "P1"
    assert failure.message == "Automatic NUMA balancing is off (1 thing in 1 place): is 1, wanted 0"
    assert failure.text == "8 GPUs on two nodes. why numa_balancing"
    assert by_name["pcie_link_width"].result == []
    assert [case.result[0].message for case in by_name.values() if case.is_skipped] == [
        "not applicable: no swap is active", "unknown: all ones", "waived: a lab"]
    assert {one.name: one.value for one in suite.properties()} == {"profile": "inference", "run_id": RUN}


def test_nothing_is_there_that_the_schema_does_not_know(text):
    for element in ElementTree.fromstring(text.encode()).iter():
        assert set(element.attrib) == ATTRIBUTES[element.tag]


def test_a_host_cannot_break_the_xml():
    _suite, by_name = cases(junit(hostile_document(), RUN))
    assert by_name["own_check"].is_failure
    assert "</script><script>window.hacked=1" in by_name["own_check"].result[0].message


@pytest.mark.parametrize("findings, tag, kind, message", [
    # Whatever fails counts most, then what could not be judged, a waiver, and what does not apply anywhere.
    ([("fail", "P2", 512), ("fail", "P2", 256), ("fail", "P1", 128), ("unknown", "P2", None), ("pass", "P2", 4096)],
     "failure", "P1", "Title of size (2 things in 3 places): 0000:21:00.0: is 128, wanted -; "
     "0000:01:00.0, 0000:11:00.0: is 512 (1), 256 (1), wanted -"),
    ([("pass", "P2", 4096), ("unknown", "P2", None), ("not_applicable", "P2", None), ("unknown", "P2", None)],
     "skipped", None, "unknown: reason 1 (0000:11:00.0); reason 3 (0000:31:00.0)"),
    ([("not_applicable", "P2", None), ("pass", "P2", 4096)], None, None, None),
    ([("not_applicable", "P2", None)], "skipped", None, "not applicable: reason 0"),
])
def test_a_check_is_one_case_whatever_the_number_of_its_findings(findings, tag, kind, message):
    text = junit(document([
        finding("size", verdict, priority=priority, subject=subject, actual=actual, reason=f"reason {number}")
        for number, (subject, (verdict, priority, actual)) in enumerate(zip(GPUS, findings))]), RUN)
    suite, by_name = cases(text)
    assert (suite.tests, list(by_name)) == (1, ["size"])
    assert [(element.tag, element.get("type"), element.get("message"))
            for element in ElementTree.fromstring(text.encode()).iter() if element.tag in ("failure", "skipped")] == (
        [(tag, kind, message)] if tag else [])
