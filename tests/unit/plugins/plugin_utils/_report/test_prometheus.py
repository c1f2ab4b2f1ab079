# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.prometheus import prometheus
from prometheus_client.parser import text_string_to_metric_families

from audit_document import document, finding
from fleet_documents import HOSTILE, hostile_document

RUN = "20261129T183000Z-4f2a"


def families(text):
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_a_gauge_a_finding_and_one_for_the_time():
    found = families(prometheus(document([
        finding("numa_balancing", "fail", priority="P1"), finding("pcie_link_width", "pass", subject="0000:01:00.0"),
        finding("pcie_aer", "unknown", subject="0000:11:00.0"),
        finding("iommu_acs", "fail", waived={"reason": "a lab", "expires": "2027-01-01"})]), RUN, 1796063400.25))
    assert {name: family.type for name, family in found.items()} == {
        "gpuhost_finding": "gauge", "gpuhost_things": "gauge", "gpuhost_places": "gauge",
        "gpuhost_audit_timestamp_seconds": "gauge", "gpuhost_audit_info": "gauge"}
    assert [(one.labels["check"], one.labels["verdict"], one.labels["waived"], one.value)
            for one in found["gpuhost_finding"].samples] == [
        ("numa_balancing", "fail", "no", 1), ("pcie_link_width", "pass", "no", 0), ("pcie_aer", "unknown", "no", 0),
        ("iommu_acs", "fail", "yes", 0)]
    assert found["gpuhost_finding"].samples[1].labels == {
        "host": "pve1", "check": "pcie_link_width", "subject": "0000:01:00.0", "priority": "P2", "verdict": "pass",
        "waived": "no"}
    (time,) = found["gpuhost_audit_timestamp_seconds"].samples
    assert (time.labels, time.value) == ({"host": "pve1"}, 1796063400.25)
    assert found["gpuhost_audit_info"].samples[0].labels == {"host": "pve1", "profile": "inference", "run_id": RUN}


def test_things_and_their_places_have_a_gauge_each_by_priority():
    made = document([])
    made["summary"] |= {"things": {"P0": 0, "P1": 1, "P2": 3, "info": 0},
                        "places": {"P0": 0, "P1": 256, "P2": 10, "info": 0}}
    found = families(prometheus(made, RUN, 0))
    for name, values in (("gpuhost_things", (0, 1, 3, 0)), ("gpuhost_places", (0, 256, 10, 0))):
        assert [(one.labels, one.value) for one in found[name].samples] == [
            ({"host": "pve1", "priority": priority}, value)
            for priority, value in zip(("P0", "P1", "P2", "info"), values)]


def test_no_sample_is_there_twice():
    text = prometheus(document([finding("pcie_aer", "pass", subject=f"0000:0{bus}:00.0") for bus in range(8)]), RUN, 0)
    names = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(names) == len(set(names)) == 18


def test_a_host_cannot_break_the_format():
    made = hostile_document("back\\slash \"quoted\"")
    made["findings"][0]["subject"] += "\n# TYPE hacked gauge\nhacked 1"
    text = prometheus(made, RUN, 0)
    found = families(text)
    assert set(found) == {"gpuhost_finding", "gpuhost_things", "gpuhost_places", "gpuhost_audit_timestamp_seconds",
                          "gpuhost_audit_info"}
    labels = found["gpuhost_finding"].samples[0].labels
    assert labels["host"] == "back\\slash \"quoted\""
    assert labels["subject"].startswith(HOSTILE[:40])
    assert labels["subject"].endswith("# TYPE hacked gauge hacked 1")
    assert text.encode("utf-8")
