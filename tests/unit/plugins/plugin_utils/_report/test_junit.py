# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from xml.etree import ElementTree

import junitparser
import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.junit import junit

from audit_document import document, finding
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
    assert failure.message == "Automatic NUMA balancing is off: is 1, wanted 0"
    assert failure.text == "8 GPUs on two nodes. why numa_balancing"
    assert by_name["pcie_link_width 0000:01:00.0"].result == []
    assert [case.result[0].message for case in by_name.values() if case.is_skipped] == [
        "not applicable: no swap is active", "unknown: all ones", "waived: a lab"]
    assert {one.name: one.value for one in suite.properties()} == {"profile": "inference", "run_id": RUN}


def test_nothing_is_there_that_the_schema_does_not_know(text):
    for element in ElementTree.fromstring(text.encode()).iter():
        assert set(element.attrib) == ATTRIBUTES[element.tag]


def test_a_host_cannot_break_the_xml():
    _suite, by_name = cases(junit(hostile_document(), RUN))
    assert len(by_name) == 2
    (failing,) = (case for case in by_name.values() if case.is_failure)
    assert "</script><script>window.hacked=1" in failing.result[0].message
    assert "own_check ??" in by_name
