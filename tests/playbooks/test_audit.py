# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit as a user runs it, over planted hosts."""
from __future__ import annotations

import json

import pytest

from facts_schema import document_problems
from hosts.others import virtual_machine
from hosts.story_before import GPUS, all_ones_on, story_before


@pytest.fixture
def story(make_tree):
    return story_before(make_tree("pve1"))


@pytest.fixture
def guest(make_tree):
    return virtual_machine(make_tree("guest"))


def record(controller, host):
    return json.loads((controller.reports / host / "audit.json").read_text())


def verdicts(document):
    found = {}
    for finding in document["findings"]:
        found.setdefault(finding["check"], set()).add(finding["verdict"])
    return found


def test_one_host_gets_a_whole_report(controller, story):
    run = controller.play("audit.yml", {"pve1": story}).succeeded()
    assert run.changed("pve1") == 0
    assert "numa_balancing: 1, wanted 0 [runtime, contested]" in run.stdout
    assert "pcie_maxreadreq: 512, wanted 4096 (all 8 GPUs)" in run.stdout
    # One word of the next command, the variables of this test, is not broken however long it is.
    ours = [line for line in run.stdout.splitlines() if not line.startswith(("TASK", "PLAY", "pve1  ", "rec", "rep"))
            and "gpuhost_report_dir" not in line]
    assert max(map(len, ours)) <= 100
    document = record(controller, "pve1")
    assert document_problems("audit.json", document) == []
    assert document["boot_id"] == "0b54b1f2-6c5a-4b52-9d3c-1a6f0c9e7d21"
    seen = verdicts(document)
    assert seen["numa_balancing"] == {"fail"}
    assert seen["swappiness"] == {"not_applicable"}
    report = (controller.reports / "pve1" / "system-improve.md").read_text()
    assert "# pve1: what to improve" in report
    assert '0000:81:00.0; do setpci -s "$device" CAP_EXP+8.w=5000:7000; done' in report


def test_many_hosts_get_a_line_each_and_all_of_it_with_v(controller, story, guest):
    hosts = {"pve1": story, "guest": guest}
    short = controller.play("audit.yml", hosts).succeeded().stdout
    assert "pve1: 13 things to do (1 P0, 1 P1, 1 P2, 10 info) in 20 places" in short
    assert "guest: " in short
    assert "wanted 4096" not in short
    assert "wanted 4096" in controller.play("audit.yml", hosts, "-v").succeeded().stdout
    assert verdicts(record(controller, "guest"))["pcie_maxreadreq"] == {"not_applicable"}


def test_check_mode_writes_the_same_records(controller, story):
    controller.play("audit.yml", {"pve1": story}, "--check").succeeded()
    assert record(controller, "pve1")["summary"]["verdicts"]["fail"] == 20


def test_a_pipeline_can_be_stopped(controller, story):
    failed = controller.play("audit.yml", {"pve1": story}, variables={"gpuhost_fail_on": "P0"}).failed()
    message = failed.one("pve1", action="audit")["msg"]
    assert "gpuhost_fail_on=P0: 1 thing to do of priority P0 or above: iommu_acs. See " in message
    assert (controller.reports / "pve1" / "audit.json").exists()
    controller.play("audit.yml", {"pve1": story}, variables={
        "gpuhost_fail_on": "P0", "gpuhost_waivers": [
            {"check": "iommu_acs", "reason": "no transfers between GPUs here", "expires": "2999-01-01"}]}).succeeded()


@pytest.mark.one_core
def test_links_are_looked_at_as_often_as_the_user_asks(controller, story):
    controller.play("audit.yml", {"pve1": story}, variables={"gpuhost_link_samples": 2}).succeeded()
    gpus = record(controller, "pve1")["facts"]["gpus"]
    assert [gpu["link_samples"]["looks"] for gpu in gpus] == [2] * 8
    report = (controller.reports / "pve1" / "system-improve.md").read_text()
    assert "2.5 to 2.5 GT/s in 2 samples, with 0 changes" in report


@pytest.mark.one_core
def test_only_and_skip_choose_checks(controller, story):
    controller.play("audit.yml", {"pve1": story}, variables={
        "gpuhost_only": ["swappiness", "numa_balancing"]}).succeeded()
    assert verdicts(record(controller, "pve1")).keys() == {"swappiness", "numa_balancing"}


MISTAKES = {    # host: what it is told, and what the message names
    "profile": ({"gpuhost_profile": "inferense"}, "inference"),
    "only": ({"gpuhost_only": ["swapiness"]}, "swappiness"),
    "waiver": ({"gpuhost_waivers": [{"check": "swappiness", "reason": "x"}]}, "expires"),
    "checks": ({"gpuhost_checks": ["/nonexistent/checks.yml"]}, "/nonexistent/checks.yml"),
    "folder": ({"gpuhost_sysroot": "/nonexistent/host"}, "/nonexistent/host"),
}


@pytest.mark.one_core
def test_a_mistake_is_one_clear_message(controller, story):
    hosts = {name: {"gpuhost_sysroot": str(story.root), **variables} for name, (variables, _named) in MISTAKES.items()}
    run = controller.play("audit.yml", hosts).failed()
    for name, (_variables, named) in MISTAKES.items():
        assert named in run.one(name, action="audit")["msg"]


@pytest.mark.one_core
def test_a_lost_gpu_is_unknown_and_the_other_seven_are_judged(controller, story):
    lost = list(GPUS)[4]
    all_ones_on(story, lost)
    controller.play("audit.yml", {"pve1": story}).succeeded()
    findings = [finding for finding in record(controller, "pve1")["findings"] if finding["check"] == "pcie_maxreadreq"]
    assert {finding["subject"]: finding["verdict"] for finding in findings} == {
        address: "unknown" if address == lost else "fail" for address in GPUS}


@pytest.mark.one_core
def test_own_checks_are_judged_beside_the_shipped_ones(controller, story, tmp_path):
    own = tmp_path / "own.yml"
    own.write_text("""
- id: own_somaxconn
  title: The accept queue is long enough for an API server
  topic: network
  priority: P2
  actual: 'host.sysctl."net.core.somaxconn"'
  expect: {op: at_least, value: 8192, type: int}
  why: Bursts of connections are dropped otherwise.
  evidence: kernel_doc
  sources: ["Linux, Documentation/admin-guide/sysctl/net.rst"]
  takes_effect: at_once
  fix:
    class: runtime
    tunable: "sysctl:net.core.somaxconn"
    risk: none known
    undo: "sysctl -w net.core.somaxconn={actual}"
""")
    run = controller.play("audit.yml", {"pve1": story}, variables={"gpuhost_checks": [str(own)]}).succeeded()
    assert "own_somaxconn: 4096, wanted at least 8192" in run.stdout
    own.write_text(own.read_text().replace("net.core.somaxconn\"'", "net.core.somaxcon\"'", 1))
    message = controller.play("audit.yml", {"pve1": story}, variables={"gpuhost_checks": [str(own)]}).failed() \
        .one("pve1", action="audit")["msg"]
    assert "own.yml" in message
    assert "own_somaxconn" in message
    assert "net.core.somaxconn" in message


def test_it_runs_by_its_name_and_from_its_folder(controller, story):
    controller.play("gpuhost.tuning.audit", {"pve1": story}).succeeded()
    assert record(controller, "pve1")["host"] == "pve1"


@pytest.mark.one_core
def test_a_host_whose_name_is_no_folder_stops(controller, story):
    run = controller.play("audit.yml", {"../pve1": story}).failed()
    assert "rename the host in the inventory" in run.one("../pve1", action="audit")["msg"]
    assert not (controller.reports.parent / "pve1").exists()


def test_nothing_is_printed_past_a_callback_that_prints_json(controller, story, guest):
    for hosts in ({"pve1": story}, {"pve1": story, "guest": guest}):
        run = controller.play("audit.yml", hosts, ANSIBLE_STDOUT_CALLBACK="whole_json").succeeded()
        printed = {one["host"]: one["result"] for one in json.loads(run.stdout)
                   if one["action"] == "gpuhost.tuning.audit"}
        assert set(printed) == set(hosts)
        assert any("13 things to do (1 P0, 1 P1, 1 P2, 10 info) in 20 places" in line
                   for line in printed["pve1"]["lines"])
    assert "lines" not in controller.play("audit.yml", {"pve1": story}).one("pve1", action="audit")


@pytest.mark.one_core
def test_a_tune_and_a_restore_print_nothing_past_it_either(controller, story):
    values = {"gpuhost_values": {"sysctl": {"vm.swappiness": "10"}}, "gpuhost_only": ["swappiness"]}
    said = {}
    for playbook in ("tune_runtime.yml", "verify.yml", "restore.yml"):
        run = controller.play(playbook, {"pve1": story}, variables=values, ANSIBLE_STDOUT_CALLBACK="whole_json")
        said |= {one["action"].rpartition(".")[2]: one["result"].get("lines")
                 for one in json.loads(run.succeeded().stdout)}
    assert said["verify"][0].startswith("pve1: ")
    assert said["restore_plan"][0].startswith("pve1: ")
