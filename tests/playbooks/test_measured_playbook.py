# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was measured on a host is in its report, and only what helps is planned."""
from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from experiment_document import HELPS, HURTS, NOTHING, RUN, arm, experiment
from facts_schema import document_problems
from hosts.story_before import story_before

ARMS = {"numa_balancing": ("kernel.numa_balancing", "0", HELPS), "nmi_watchdog": ("kernel.nmi_watchdog", "0", HURTS),
        "sched_autogroup_enabled": ("kernel.sched_autogroup_enabled", "0", NOTHING)}
OTHERS = {"vm.dirty_ratio", "vm.dirty_background_ratio", "net.core.rmem_max", "net.core.wmem_max"}


@pytest.fixture
def measured(controller):
    """The folder of a host on which an experiment was made, and what it found."""
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment import keep
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records import host_folder
    from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records import measured as records_measured

    folder = host_folder.HostFolder(str(controller.reports), "pve1")
    document = experiment(arms=[arm(check, check, f"sysctl:{key}", value, tokens_per_second=found)
                                for check, (key, value, found) in ARMS.items()])
    host_folder.write_json(folder.path / "experiment.json", document)
    records_measured.add_measured(folder.path, "experiment", RUN, document["measured_at"], "another boot", [
        {"check": check, "subject": None, "verdict": found["verdict"], "said": found["said"]}
        for check, (key, value, found) in ARMS.items()])
    keep.write_overrides(folder, document)
    return folder.path


def test_only_what_helps_is_planned_and_all_of_it_is_shown(controller, make_tree, measured):
    run = controller.play("tune_runtime.yml", {"pve1": story_before(make_tree("pve1"))}, "--check", "-e",
                          f"@{measured / RUN / 'overrides.yml'}").succeeded()

    # Everything else stays planned.
    plan = run.one("pve1", "plan and record", "audit")["plan"]
    assert set(plan["sysctl"]) == OTHERS | {"kernel.numa_balancing"}
    assert len(plan["pcie_maxreadreq"]) == 8

    # Verdicts are those of the checks; beside them stands what was measured, in another boot.
    audit = json.loads((measured / "audit.json").read_text())
    assert document_problems("audit.json", audit) == []
    found = {one["check"]: one for one in audit["findings"] if one["measured_here"]}
    assert {check: one["verdict"] for check, one in found.items()} == dict.fromkeys(ARMS, "fail")
    assert found["nmi_watchdog"]["measured_here"] == [{
        "kind": "experiment", "verdict": "hurts", "said": HURTS["said"], "run_id": RUN,
        "measured_at": "2026-11-30T01:00:00Z", "same_boot": False}]
    assert found["nmi_watchdog"]["fix"]["not_planned_because"] == "gpuhost_overrides says plan: false"

    # The report has the table, the plot, and what speaks against a recommendation.
    report = (measured / "system-improve.md").read_text()
    assert "## Which changes help: vllm serving" in report
    assert "| numa\\_balancing | tokens\\_per\\_second | helps | +12.4 % (+10.9 to +13.8) | 10 | 0.008 |" in report
    assert "![Effects of the changes on vllm serving](effects.svg)" in report
    assert "- measured here: hurts: -4.0 %" in report and "This contradicts the recommendation" in report
    assert ElementTree.parse(measured / "effects.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    page = (controller.reports / "index.html").read_text()
    assert "Which changes help: vllm serving" in page
