# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.json_lines import findings_lines

from audit_document import document, finding
from fleet_documents import HOSTILE, hostile_document

RUN = "20261129T183000Z-4f2a"


def test_a_line_a_finding_with_what_a_program_sorts_by():
    lines = findings_lines(document([
        finding("numa_balancing", "fail", priority="P1", actual="1", recommended="0", reason="8 GPUs on two nodes") | {
            "name": "Automatic NUMA balancing", "problem": "pages are unmapped", "effect": {
                "size": "some", "source": "mechanism"}},
        finding("pcie_link_width", "pass", subject="0000:01:00.0", actual=16, recommended={"at_least": 16},
                waived={"reason": "a lab", "expires": "2027-01-01"})]), RUN).splitlines()
    first, second = map(json.loads, lines)
    assert first == {
        "host": "pve1", "run_id": RUN, "collected_at": "2026-11-29T18:30:00Z", "profile": "inference",
        "check": "numa_balancing", "subject": None, "topic": "kernel", "title": "Title of numa_balancing",
        "name": "Automatic NUMA balancing", "problem": "pages are unmapped",
        "effect": {"size": "some", "source": "mechanism"}, "verdict": "fail", "priority": "P1", "actual": "1",
        "recommended": "0", "reason": "8 GPUs on two nodes",
        "evidence": "kernel_doc", "waived": False, "fix": "runtime", "planned": False,
        "measured_here": []}
    assert (second["subject"], second["actual"], second["recommended"], second["waived"]) == (
        "0000:01:00.0", 16, {"at_least": 16}, True)
    assert (second["name"], second["problem"], second["effect"]) == (None, None, None)


def test_no_text_of_a_host_ends_a_line():
    text = findings_lines(hostile_document(), RUN)
    assert text.isascii()
    assert [json.loads(line)["reason"] for line in text.splitlines()] == [HOSTILE, HOSTILE]
