# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the fleet and the files for machines, as whole playbooks leave them."""
from __future__ import annotations

import json
import re

import junitparser
import pytest
from prometheus_client.parser import text_string_to_metric_families

from hosts.others import virtual_machine
from hosts.story_before import story_before


@pytest.fixture
def story(make_tree):
    return story_before(make_tree("pve1"))


@pytest.fixture
def guest(make_tree):
    return virtual_machine(make_tree("guest"))


def page_hosts(controller):
    """The hosts on the page, by name, as its data has them."""
    text = (controller.reports / "index.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    return {data["strings"][host[0]]: host for host in data["hosts"]}, data


def merged(controller):
    return [json.loads(line) for line in (controller.reports / "findings.jsonl").read_text().splitlines()]


def test_an_audit_ends_with_the_page_and_the_files_for_machines(controller, story, guest):
    run = controller.play("audit.yml", {"pve1": story, "guest": guest}, "--check").succeeded()
    assert [run.changed(host) for host in ("pve1", "guest")] == [0, 0]
    assert len([one for one in run.results if one.action.endswith("fleet_report")]) == 1
    assert set(page_hosts(controller)[0]) == {"pve1", "guest"}
    records = {host: json.loads((controller.reports / host / "audit.json").read_text()) for host in ("pve1", "guest")}
    assert len(merged(controller)) == sum(len(record["findings"]) for record in records.values())
    (suite,) = junitparser.JUnitXml.fromfile(str(controller.reports / "pve1" / "junit.xml"))
    assert suite.tests == len({finding["check"] for finding in records["pve1"]["findings"]})
    failing = {finding["check"] for finding in records["pve1"]["findings"] if finding["verdict"] == "fail"}
    assert {case.name for case in suite if case.is_failure} == failing >= {"numa_balancing", "pcie_maxreadreq"}
    assert suite.failures == len(failing) > 10
    families = text_string_to_metric_families((controller.reports / "pve1" / "gpuhost.prom").read_text())
    findings = next(family for family in families if family.name == "gpuhost_finding")
    assert sum(sample.value for sample in findings.samples) == records["pve1"]["summary"]["verdicts"]["fail"]
    lines = (controller.reports / "fleet.md").read_text().splitlines()
    assert [line.split(" | ")[2] for line in lines if line.startswith("| `numa_balancing` | Automatic")] == ["1 of 2"]


def test_the_page_is_there_too_when_every_host_fails_and_nobody_can_be_reached(controller, story):
    lost = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1,
            "ansible_ssh_common_args": "-o ConnectTimeout=2"}
    run = controller.play("audit.yml", {"lost": lost, "pve1": story}, variables={
        "gpuhost_fail_on": "P0", "gpuhost_only": ["iommu_acs", "swappiness"]})
    assert run.stats["lost"]["unreachable"] == 1
    assert (run.stats["pve1"]["failures"], run.stats["pve1"]["changed"]) == (1, 0)
    assert set(page_hosts(controller)[0]) == {"pve1"}
    assert {line["check"] for line in merged(controller)} == {"iommu_acs", "swappiness"}


@pytest.mark.one_core
def test_a_tune_is_on_the_page_with_before_and_after_and_a_later_hand_is_drift(controller, story):
    only = {"gpuhost_only": ["numa_balancing", "dirty_ratio"]}
    run = controller.play("tune_runtime.yml", {"pve1": story}, variables=only).succeeded()
    run_id = run.one("pve1", task="Audit before")["run_id"]
    outcome = json.loads((controller.reports / "pve1" / run_id / "outcome.json").read_text())
    assert {(one["address"], one["before"], one["after"]) for one in outcome["changes"]} == {
        ("sysctl:kernel.numa_balancing", "1", "0"), ("sysctl:vm.dirty_ratio", "20", "10")}
    hosts, data = page_hosts(controller)
    (shown_id, state, outcomes, _harm, changes), = hosts["pve1"][12]
    assert (data["strings"][shown_id], data["strings"][state], outcomes, len(changes)) == (
        run_id, "finished", {"changed": 2}, 2)
    assert hosts["pve1"][10] == []
    story.sysctl("vm.dirty_ratio", 40)
    verify = controller.play("verify.yml", {"pve1": story})
    assert verify.returncode == 2
    audits = page_hosts(controller)[0]["pve1"][11]
    assert len(audits) == 3
    assert "1 drift" in page_hosts(controller)[1]["strings"][audits[-1][4]]
    controller.play("audit.yml", {"pve1": story}, variables=only).succeeded()
    history = json.loads((controller.reports / "pve1" / "history.json").read_text())
    assert history["drift"] == [{"check": "dirty_ratio", "subject": "", "was": ["pass", "10"], "now": ["fail", "40"]}]


def test_the_page_alone_is_made_without_an_inventory_and_a_page_that_cannot_be_is_no_failed_audit(controller, story):
    (controller.reports / "index.html").mkdir(parents=True)
    only = {"gpuhost_only": ["swappiness"]}
    run = controller.play("audit.yml", {"pve1": story}, variables=only).succeeded()
    (made,) = [one for one in run.results if one.action.endswith("fleet_report")]
    assert "index.html" in made.result["msg"]
    failed = controller.play("fleet_report.yml", {}).failed()
    assert "index.html" in failed.stdout
    (controller.reports / "index.html").rmdir()
    made = controller.play("fleet_report.yml", {}, "--check").succeeded()
    assert f"1 host in {controller.reports}/index.html" in " ".join(made.stdout.split())
    assert set(page_hosts(controller)[0]) == {"pve1"}
