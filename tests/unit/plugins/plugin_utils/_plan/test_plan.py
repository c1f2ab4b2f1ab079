# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.judge import judge
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.errors import CatalogueError
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan.plan import plan

import tiny_catalogue as tiny

TODAY = datetime.date(2026, 11, 29)
FIRST, SECOND, THIRD = "0000:01:00.0", "0000:02:00.0", "0000:03:00.0"


@pytest.fixture
def facts():
    """Three GPUs: two at 512, the third gone; swappiness and the socket buffer as the kernel leaves them."""
    facts = tiny.host()
    facts["gpus"] = [{**tiny.gpu(number), "pcie": tiny.ok({"width": 16, "read_request": 512, "max_read_request": 512})}
                     for number in (1, 2)] + [{**tiny.gpu(3), "pcie": tiny.lacking("gone")}]
    facts["sysctl"] = {"vm.swappiness": tiny.ok("60"), "net.core.rmem_max": tiny.ok("212992"),
                       "vm.dirty_ratio": tiny.ok("20"), "net.ipv4.tcp_rmem": tiny.ok("4096\t131072\t6291456")}
    facts["tunables"] = {"sysctl:vm.laptop_mode": tiny.ok("0"), "sysctl:vm.stat_interval": tiny.lacking("denied")}
    return facts


@pytest.fixture
def planned(facts):
    """The plan of that host; `choices` go to judge()."""
    def make(extra=None, checks=(), **choices):
        choices = {"include": ["read_request"], "dedicated": True, "today": TODAY, **choices}
        findings = judge(facts, tiny.checks(*checks), tiny.PLAIN, **choices)
        return plan(findings, extra, facts)
    return make


def test_guests_are_moved_only_on_request(facts):
    facts["tunables"]["guest_affinity:vm:200"] = tiny.ok("0-7 20201=2")
    values = {"guest_affinity": {"vm:200": "3,0-2"}, "sysctl": {"vm.stat_interval": 10}}
    found = plan([], values, facts)
    assert found.values == {"sysctl": {"vm.stat_interval": "10"}}
    assert [(change["address"], change["outcome"], change["reason"]) for change in found.skipped] == [
        ("guest_affinity:vm:200", "skipped", "it is planned only on request: list guest_affinity in gpuhost_include")]
    found = plan([], values, facts, opted_in=["guest_affinity", "read_request"])
    assert found.values["guest_affinity"] == {"vm:200": "0-3"}
    assert found.baseline["guest_affinity"] == {"vm:200": "0-7 20201=2"}


def test_a_kind_that_is_opted_in_to_is_named_beside_checks(planned):
    assert planned(include=["guest_affinity"]).values["sysctl"]
    with pytest.raises(CatalogueError, match="there is no check 'guest_afinity': did you mean 'guest_affinity'"):
        planned(include=["guest_afinity"])
    with pytest.raises(CatalogueError, match="there is no check 'sysctl'"):
        planned(include=["sysctl"])


def short(changes):
    return {change["address"]: (change["before"], change["wanted"], change["outcome"]) for change in changes}


def test_what_fails_is_planned_and_what_cannot_be_is_skipped(planned):
    found = planned()
    assert found.values == {"sysctl": {"vm.swappiness": "10", "net.core.rmem_max": {"at_least": 16777216}},
                            "pcie_maxreadreq": {FIRST: 4096, SECOND: 4096}}
    assert found.baseline == {"sysctl": {"vm.swappiness": "60", "net.core.rmem_max": "212992"},
                              "pcie_maxreadreq": {FIRST: 512, SECOND: 512}}
    assert short(found.planned) == {
        "sysctl:vm.swappiness": ("60", "10", "would_change"),
        f"pcie_maxreadreq:{FIRST}": (512, 4096, "would_change"),
        f"pcie_maxreadreq:{SECOND}": (512, 4096, "would_change"),
        "sysctl:net.core.rmem_max": ("212992", {"at_least": 16777216}, "would_change")}
    assert short(found.skipped) == {f"pcie_maxreadreq:{THIRD}": (None, 4096, "skipped")}
    assert found.skipped[0]["reason"] == ("unknown: PCIe registers (lspci -xxxx) could not be read: "
                                          "the device is gone (it reads all ones)")
    assert [change["address"] for change in found.changes] == [
        "sysctl:vm.swappiness", "sysctl:net.core.rmem_max", f"pcie_maxreadreq:{FIRST}", f"pcie_maxreadreq:{SECOND}",
        f"pcie_maxreadreq:{THIRD}"]


def test_a_change_says_all_that_a_report_needs(planned):
    assert planned(only=["read_request"]).planned[0] == {
        "address": f"pcie_maxreadreq:{FIRST}", "before": 512, "wanted": 4096, "after": None, "outcome": "would_change",
        "reason": None, "check": "read_request", "subject": FIRST, "priority": "P2", "takes_effect": "at_once",
        "persist": f"p {FIRST}"}


def test_kinds_without_an_entry_are_absent(planned):
    assert planned(only=["width"]) == ({}, {}, [])


def test_what_is_left_by_choice_is_skipped_with_the_reason(planned):
    found = planned(include=[])
    assert f"pcie_maxreadreq:{FIRST}" not in found.values.get("pcie_maxreadreq", {})
    assert {change["reason"] for change in found.skipped if change["subject"] == FIRST} == {
        "it is contested and not listed in the profile plain: use gpuhost_include"}


def test_what_the_user_names_beats_the_profile(planned):
    found = planned({"sysctl": {"vm.swappiness": 30}})
    assert found.values["sysctl"]["vm.swappiness"] == "30"
    change = next(change for change in found.planned if change["address"] == "sysctl:vm.swappiness")
    assert (change["before"], change["wanted"], change["reason"]) == ("60", "30", "listed in gpuhost_values")


def test_what_the_user_names_is_planned_even_where_it_was_skipped(planned):
    found = planned({"pcie_maxreadreq": {THIRD: 4096}})
    assert found.values["pcie_maxreadreq"][THIRD] == 4096
    assert found.skipped == []


@pytest.mark.parametrize("address, before", [
    ("vm.laptop_mode", "0"), ("vm.stat_interval", None), ("vm.dirty_ratio", "20"),
    ("net.ipv4.tcp_rmem", "4096\t131072\t6291456"), ("vm.never_heard", None)])
def test_the_before_of_what_the_user_names_comes_from_the_facts(planned, address, before):
    found = planned({"sysctl": {address: 5}}, only=["width"])
    assert found.changes[0]["before"] == before
    assert found.baseline == ({"sysctl": {address: before}} if before is not None else {})


@pytest.mark.parametrize("modules, before", [
    ([{"name": "gdrdrv", "state": "live"}], "present"), ([{"name": "gdrdrv", "state": "absent"}], "absent"),
    ([], None)])
def test_the_before_of_a_module(planned, facts, modules, before):
    facts["nvidia"] = {"modules": modules}
    assert planned({"module": {"gdrdrv": "present"}}, only=["width"]).changes[0]["before"] == before


def test_a_record_is_taken_as_it_was_written(planned):
    assert planned({"schema": "gpuhost.values/1", "values": {"sysctl": {"vm.swappiness": "20"}}, "changes": []},
                   only=["width"]).values == {"sysctl": {"vm.swappiness": "20"}}


def test_a_plan_gives_way_to_the_other_face_that_the_user_names(planned):
    ratio = {**tiny.SWAPPINESS, "id": "dirty_ratio", "actual": 'host.sysctl."vm.dirty_ratio"',
             "fix": {**tiny.SWAPPINESS["fix"], "tunable": "sysctl:vm.dirty_ratio"}}
    found = planned({"sysctl": {"vm.dirty_bytes": 268435456}}, [ratio], include=[])
    assert found.values == {"sysctl": {"vm.dirty_bytes": "268435456"}}
    assert found.skipped[0]["address"] == "sysctl:vm.dirty_ratio"
    assert found.skipped[0]["reason"] == "gpuhost_values sets vm.dirty_bytes, and the two exclude each other"
    kept = planned({"sysctl": {"vm.dirty_bytes": 0}}, [ratio], include=[])
    assert kept.values == {"sysctl": {"vm.dirty_ratio": "10", "vm.dirty_bytes": "0"}}


def test_two_checks_of_one_tunable_are_one_change(planned):
    skipped = {**tiny.BUFFERS, "id": "first", "plan": False}
    found = planned(None, [skipped, tiny.BUFFERS], include=[])
    assert short(found.changes) == {
        "sysctl:net.core.rmem_max": ("212992", {"at_least": 16777216}, "would_change")}


def test_a_mistake_of_the_user_is_one_message(planned):
    with pytest.raises(CatalogueError, match=r"gpuhost_values: sysctl:vm\.swappiness: true is a boolean"):
        planned({"sysctl": {"vm.swappiness": True}})
