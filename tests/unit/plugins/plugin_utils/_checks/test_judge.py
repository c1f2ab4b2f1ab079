# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
import datetime
import json
import sys

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import Profile, load_profile, shipped
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.judge import judge, resolve, summary
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.errors import CatalogueError
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan.plan import plan
from hypothesis import given, settings
from hypothesis import strategies as st

import neutral_facts
import tiny_catalogue as tiny

TODAY = datetime.date(2026, 11, 29)


def verdicts(findings, check):
    return {finding["subject"]: finding["verdict"] for finding in findings if finding["check"] == check}


def only(findings, check):
    found = [finding for finding in findings if finding["check"] == check]
    assert len(found) == 1
    return found[0]


def test_eight_gpus_one_slow_one_gone():
    host = tiny.host()
    host["gpus"][2]["pcie"]["value"]["width"] = 8
    host["gpus"][5]["pcie"] = tiny.lacking("gone")
    findings = judge(host, tiny.checks(tiny.WIDTH), tiny.PLAIN, today=TODAY)
    assert verdicts(findings, "width") == {
        "0000:01:00.0": "pass", "0000:02:00.0": "pass", "0000:03:00.0": "fail", "0000:04:00.0": "pass",
        "0000:05:00.0": "pass", "0000:06:00.0": "unknown", "0000:07:00.0": "pass", "0000:08:00.0": "pass"}
    assert summary(findings, today=TODAY)["verdicts"] == {"fail": 1, "unknown": 1, "pass": 6, "not_applicable": 0}
    assert findings[0]["reason"] == "it has 8 of 16 lanes"
    assert findings[1]["reason"] == (
        "PCIe registers (lspci -xxxx) could not be read: the device is gone (it reads all ones)")
    assert findings[2]["reason"] == "it has them all"


def test_a_finding_has_the_shape_of_audit_json():
    host = tiny.host()
    host["gpus"] = host["gpus"][:1]
    host["gpus"][0]["pcie"]["value"]["width"] = 4
    assert judge(host, tiny.checks(tiny.WIDTH), tiny.PLAIN, today=TODAY) == [{
        "check": "width", "subject": "0000:01:00.0", "topic": "pcie", "name": "The link of 0000:01:00.0 has 16 lanes",
        "title": "The link of 0000:01:00.0 has 16 lanes", "problem": None,
        "effect": {"size": "unknown", "source": None},
        "verdict": "fail", "priority": "P0", "actual": 4, "recommended": {"at_least": 16},
        "reason": "it has 4 of 16 lanes", "why": "because", "evidence": "vendor", "contested": None,
        "takes_effect": "at_once",
        "fix": {"class": "manual", "change": None, "how": "reseat 0000:01:00.0", "commands": [], "risk": None,
                "undo": None, "undo_commands": [], "forbidden": None, "persist": None,
                "planned": False, "not_planned_because": None},
        "sources": ["the manual"], "source_links": [], "waived": None, "measured_here": [],
    }]


def test_a_run_time_fix_is_planned():
    host = tiny.host()
    host["sysctl"]["vm.swappiness"] = tiny.ok("60")
    fix = only(judge(host, tiny.checks(tiny.SWAPPINESS), tiny.PLAIN, today=TODAY), "swappiness")["fix"]
    assert fix == {"class": "runtime", "change": {"address": "sysctl:vm.swappiness", "value": "10"}, "how": None,
                   "commands": ["sysctl -w vm.swappiness=10"], "undo_commands": ["sysctl -w vm.swappiness=60"],
                   "forbidden": None, "risk": "r", "undo": "u", "persist": None, "planned": True,
                   "not_planned_because": None}


def test_at_least_is_planned_as_at_least():
    host = tiny.host()
    host["sysctl"]["net.core.rmem_max"] = tiny.ok("212992")
    fix = only(judge(host, tiny.checks(tiny.BUFFERS), tiny.PLAIN, today=TODAY), "buffers")["fix"]
    assert fix["change"] == {"address": "sysctl:net.core.rmem_max", "value": {"at_least": 16777216}}


def test_what_passes_needs_no_change():
    fix = only(judge(tiny.host(), tiny.checks(tiny.BUFFERS), tiny.PLAIN, today=TODAY), "buffers")["fix"]
    assert (fix["change"], fix["planned"], fix["not_planned_because"]) == (None, False, None)


# -- applies, each, absent -------------------------------------------------------------------------------------

@pytest.mark.parametrize("applies, verdict, reason", [
    ("length(host.swap) > `5`", "not_applicable", "why not"),
    ("host.swap", "unknown", "applies: host.swap is an array, neither true nor false"),
    ("host.nothing", "unknown", "not known here: nothing"),
    ("host.nothing > `1`", "unknown", "not known here: nothing"),
    ("host.sawp", "unknown", "applies: there is no 'sawp': did you mean 'swap'? (in host.sawp)"),
    ("host.locked == `0`", "unknown", "locked could not be read: it needs root"),
    ("host.locked == `0` || host.dedicated", "unknown", "locked could not be read: it needs root"),
    ("host.dedicated == `false`", "pass", None),
])
def test_applies(applies, verdict, reason):
    host = {**tiny.host(), "nothing": None, "locked": tiny.lacking("denied")}
    check = {**tiny.SWAPPINESS, "applies": applies, "otherwise": "why not"}
    finding = only(judge(host, tiny.checks(check), tiny.PLAIN, today=TODAY), "swappiness")
    assert (finding["verdict"], finding["reason"]) == (verdict, reason)


def test_applies_of_a_subject_is_asked_of_each():
    host = tiny.host()
    host["gpus"][0]["vendor"] = "1002"
    findings = judge(host, tiny.checks(tiny.WIDTH), tiny.PLAIN, today=TODAY)
    assert verdicts(findings, "width")["0000:01:00.0"] == "not_applicable"
    assert len(findings) == 8
    assert findings[-1]["reason"] == "1002 is not judged"


def test_applies_of_the_host_gives_one_finding_for_all_its_subjects():
    check = {**tiny.READ_REQUEST, "applies": "host.dedicated", "otherwise": "shared"}
    finding = only(judge(tiny.host(), tiny.checks(check), tiny.PLAIN, today=TODAY), "read_request")
    assert (finding["subject"], finding["verdict"], finding["reason"]) == (None, "not_applicable", "shared")


def test_no_subject_is_not_applicable():
    finding = only(judge({**tiny.host(), "gpus": []}, tiny.checks(tiny.READ_REQUEST), tiny.PLAIN, today=TODAY),
                   "read_request")
    assert (finding["subject"], finding["verdict"], finding["reason"]) == (None, "not_applicable", "no GPU")


@pytest.mark.parametrize("each, reason", [
    ("host.gpus[?pcie.width > `1`]", "PCIe registers (lspci -xxxx) of 0000:01:00.0 could not be read: it needs root"),
    ("host.sysctl", "each yields an object, not a list of subjects"),
    ("host.gpsu", "each: there is no 'gpsu': did you mean 'gpus'? (in host.gpsu)"),
])
def test_subjects_that_cannot_be_told_are_one_unknown(each, reason):
    host = tiny.host()
    host["gpus"][0]["pcie"] = tiny.lacking("denied")
    check = {**tiny.READ_REQUEST, "each": each}
    finding = only(judge(host, tiny.checks(check), tiny.PLAIN, today=TODAY), "read_request")
    assert (finding["subject"], finding["verdict"], finding["reason"]) == (None, "unknown", reason)


@pytest.mark.parametrize("reading, verdict, reason", [
    ({"status": "absent", "value": None}, "not_applicable", "this kernel has no such limit"),
    ({"status": "denied", "value": None}, "unknown",
     'the sysctl net.core.rmem_max could not be read: it needs root'),
    ({"status": "ok", "value": "many"}, "unknown", 'the sysctl net.core.rmem_max: "many" is not an int'),
    ({"status": "ok", "value": None}, "unknown", "not known here: the sysctl net.core.rmem_max"),
])
def test_actual(reading, verdict, reason):
    host = tiny.host()
    host["sysctl"]["net.core.rmem_max"] = reading
    finding = only(judge(host, tiny.checks(tiny.BUFFERS), tiny.PLAIN, today=TODAY), "buffers")
    assert (finding["verdict"], finding["reason"]) == (verdict, reason)


def test_absent_is_unknown_where_the_check_does_not_say_what_it_means():
    host = tiny.host()
    host["sysctl"]["vm.swappiness"] = tiny.lacking("absent")
    finding = only(judge(host, tiny.checks(tiny.SWAPPINESS), tiny.PLAIN, today=TODAY), "swappiness")
    assert finding["verdict"] == "unknown"
    assert finding["reason"] == 'the sysctl vm.swappiness could not be read: not present on this host'


@pytest.mark.parametrize("source, verdict, recommended, reason", [
    ("it.best", "fail", {"at_least": 16}, "it has 8 of 16 lanes"),
    ("it.small", "pass", {"at_least": 4}, "it has them all"),
    ("it.nothing", "unknown", None, "not known here: nothing"),
    ("it.locked", "unknown", None, "locked could not be read: it needs root"),
    ("it.bset", "unknown", None, "expect.from: there is no 'bset': did you mean 'best'? (in it.bset)"),
])
def test_what_is_wanted_may_be_an_expression(source, verdict, recommended, reason):
    host = tiny.host()
    host["gpus"] = [{**tiny.gpu(1), "best": 16, "small": 4, "nothing": None, "locked": tiny.lacking("denied"),
                     "pcie": tiny.ok({"width": 8})}]
    check = {**tiny.WIDTH, "expect": {"op": "at_least", "from": source, "type": "int"}}
    finding = only(judge(host, tiny.checks(check), tiny.PLAIN, today=TODAY), "width")
    assert (finding["verdict"], finding["recommended"], finding["reason"]) == (verdict, recommended, reason)


def test_what_was_derived_says_itself_why_it_is_not_to_be_had():
    host = tiny.host()
    host["sysctl"]["net.core.rmem_max"] = {"status": "unparsable", "value": None, "why": "the pinned kernel is gone"}
    finding = only(judge(host, tiny.checks(tiny.BUFFERS), tiny.PLAIN, today=TODAY), "buffers")
    assert (finding["verdict"], finding["reason"]) == ("unknown", "the pinned kernel is gone")


@pytest.mark.parametrize("entries, reason", [
    ([{"fact": 'sysctl."net.core.rmem_max"', "path": "/proc/sys/net/core/rmem_max", "text": "many"}],
     'the sysctl net.core.rmem_max could not be read: /proc/sys/net/core/rmem_max holds \'many\', the content is '
     "not valid"),
    ([], 'the sysctl net.core.rmem_max could not be read: the content is not valid'),
])
def test_what_makes_no_sense_is_told_with_its_file(entries, reason):
    host = {**tiny.host(), "unparsable": entries}
    host["sysctl"]["net.core.rmem_max"] = {"status": "unparsable", "value": None}
    finding = only(judge(host, tiny.checks(tiny.BUFFERS), tiny.PLAIN, today=TODAY), "buffers")
    assert (finding["verdict"], finding["reason"]) == ("unknown", reason)


# -- priorities ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("condition, priority", [
    ("host.guests == `0`", "P0"), ("host.guests > `0`", "P2"), ("host.locked", "P2"), ("host.nothing", "P2")])
def test_a_failing_finding_escalates_by_evidence_on_this_host(condition, priority):
    host = {**tiny.host(), "nothing": None, "locked": tiny.lacking("denied")}
    host["gpus"] = [{**tiny.gpu(1), "pcie": tiny.ok({"width": 8})}, tiny.gpu(2)]
    check = {**tiny.WIDTH, "priority": "P2", "escalate": {"priority": "P0", "if": condition}}
    findings = judge(host, tiny.checks(check), tiny.PLAIN, today=TODAY)
    assert [(one["verdict"], one["priority"]) for one in findings] == [("fail", priority), ("pass", "P2")]


def test_a_user_who_sets_the_priority_gets_it():
    host = tiny.host()
    host["gpus"][0]["pcie"] = tiny.ok({"width": 8})
    check = {**tiny.WIDTH, "priority": "P2", "escalate": {"priority": "P0", "if": "host.guests == `0`"}}
    findings = judge(host, tiny.checks(check), tiny.PLAIN, overrides={"width": {"priority": "info"}}, today=TODAY)
    assert {one["priority"] for one in findings} == {"info"}


def test_what_matters_most_comes_first():
    host = tiny.host()
    host["gpus"] = [tiny.gpu(1), {**tiny.gpu(2), "pcie": tiny.ok({"width": 8, "read_request": 512})}]
    host["swap"] = tiny.lacking("denied")
    host["sysctl"]["net.core.rmem_max"] = tiny.ok("212992")
    findings = judge(host, tiny.checks(), tiny.PLAIN, today=TODAY)
    order = [(one["priority"], one["verdict"], one["check"]) for one in findings]
    assert order == [("P0", "fail", "width"), ("P0", "pass", "width"), ("P1", "unknown", "swappiness"),
                     ("P2", "fail", "buffers"), ("P2", "fail", "read_request"), ("P2", "pass", "read_request")]


# -- planning --------------------------------------------------------------------------------------------------

def fix_of(check, host, profile=None, **choices):
    return only(judge(host, tiny.checks(check), profile or tiny.PLAIN, today=TODAY, **choices), check["id"])["fix"]


def with_512(**gpu):
    host = tiny.host()
    host["gpus"] = [{**tiny.gpu(1), "pcie": tiny.ok({"read_request": 512}), **gpu}]
    return host


def test_a_contested_check_is_planned_only_by_name():
    host = with_512()
    fix = fix_of(tiny.READ_REQUEST, host)
    assert fix["planned"] is False
    assert fix["not_planned_because"] == "it is contested and not listed in the profile plain: use gpuhost_include"
    assert fix["change"] == {"address": "pcie_maxreadreq:0000:01:00.0", "value": 4096}
    assert fix_of(tiny.READ_REQUEST, host, include=["read_request"])["planned"] is True
    assert fix_of(tiny.READ_REQUEST, host, Profile("p", plan=frozenset(["read_request"])))["planned"] is True
    assert fix_of(tiny.READ_REQUEST, host, overrides={"read_request": {"value": 2048}})["change"]["value"] == 2048
    assert fix_of(tiny.READ_REQUEST, host, overrides={"read_request": {"value": 2048}})["planned"] is True


@pytest.mark.parametrize("gpu, reason", [
    ({"driver": "vfio-pci"}, "0000:01:00.0 is passed through"),
    ({"users": {"status": "ok", "value": [4711]}}, "it is busy"),
    ({"users": {"status": "denied", "value": None}}, "the processes that use the GPU (/proc/PID/fd) could not be read: "
                                                     "it needs root"),
])
def test_what_must_be_so_before_a_change_is_planned(gpu, reason):
    fix = fix_of(tiny.READ_REQUEST, with_512(**gpu), include=["read_request"])
    assert (fix["planned"], fix["not_planned_because"]) == (False, reason)


@pytest.mark.parametrize("guests, dedicated, reason", [
    ({"status": "ok", "value": 0}, False, None),
    ({"status": "ok", "value": 3}, False, "it is only planned if host.dedicated || host.guests == `0`"),
    ({"status": "ok", "value": 3}, True, None),
    ({"status": "denied", "value": None}, True, None),
    ({"status": "denied", "value": None}, False, "guests of Proxmox VE (/etc/pve) could not be read: it needs root"),
    ({"status": "ok", "value": "3"}, False, "a string is compared with a number"),
])
def test_plan_if(guests, dedicated, reason):
    host = {**tiny.host(), "guests": guests}
    host["sysctl"]["vm.swappiness"] = tiny.ok("60")
    fix = fix_of(tiny.SWAPPINESS, host, dedicated=dedicated)
    assert (fix["planned"], fix["not_planned_because"]) == (reason is None, reason)


def test_a_condition_that_is_neither_true_nor_false_plans_nothing():
    host = tiny.host()
    host["sysctl"]["vm.swappiness"] = tiny.ok("60")
    fix = fix_of({**tiny.SWAPPINESS, "plan_if": "host.swap"}, host)
    assert fix["not_planned_because"] == "plan_if: host.swap is neither true nor false"


@pytest.mark.parametrize("profile, reason", [
    (Profile("careful", evidence=frozenset(["kernel_doc", "vendor"])),
     "its evidence is community, and the profile careful only plans kernel_doc and vendor"),
    (Profile("careful", evidence=frozenset(["vendor"]), plan=frozenset(["buffers"])), None),
    (Profile("idle", leave=frozenset(["buffers"])), "not planned by the profile idle"),
])
def test_a_profile_chooses_what_is_planned(profile, reason):
    host = tiny.host()
    host["sysctl"]["net.core.rmem_max"] = tiny.ok("1")
    assert fix_of(tiny.BUFFERS, host, profile)["not_planned_because"] == reason


def test_a_check_that_does_not_plan_itself():
    host = tiny.host()
    host["sysctl"]["net.core.rmem_max"] = tiny.ok("1")
    check = {**tiny.BUFFERS, "plan": False}
    assert fix_of(check, host)["not_planned_because"].startswith("it is planned only on request")
    assert fix_of(check, host, include=["buffers"])["planned"] is True


def test_unknown_and_not_applicable_keep_their_address_and_say_why():
    host = {**tiny.host(), "swap": tiny.ok([])}
    host["gpus"] = [{**tiny.gpu(1), "pcie": tiny.lacking("asleep")}]
    swappiness = fix_of(tiny.SWAPPINESS, host)
    assert swappiness["change"] == {"address": "sysctl:vm.swappiness", "value": "10"}
    assert swappiness["not_planned_because"] == "not applicable: the host has no swap"
    request = fix_of(tiny.READ_REQUEST, host)
    assert request["change"] == {"address": "pcie_maxreadreq:0000:01:00.0", "value": 4096}
    assert request["not_planned_because"] == ("unknown: PCIe registers (lspci -xxxx) could not be read: "
                                              "the device is suspended and was not "
                                              "woken")


@pytest.mark.parametrize("fix, value, reason", [
    ({"value": "performance"}, "performance", None),
    ({"value": "{recommended}"}, "10", None),
    ({"tunable": "sysctl:{it.name}"}, None, "'name' asked of null"),
])
def test_the_value_to_write(fix, value, reason):
    host = tiny.host()
    host["sysctl"]["vm.swappiness"] = tiny.ok("60")
    found = fix_of({**tiny.SWAPPINESS, "fix": {**tiny.SWAPPINESS["fix"], **fix}}, host)
    assert (found["change"] and found["change"]["value"], found["not_planned_because"]) == (value, reason)


def test_a_fixed_value_is_not_written_where_the_user_wants_another():
    check = {**tiny.SWAPPINESS, "fix": {**tiny.SWAPPINESS["fix"], "value": "10"}}
    host = tiny.host()
    assert fix_of(check, host, overrides={"swappiness": {"value": 30}})["not_planned_because"] == (
        "no value can be written: the check writes a fixed value, and another one is wanted here: set it in "
        "gpuhost_values")


# -- overrides and choices -------------------------------------------------------------------------------------

def test_an_override_beats_the_profile_which_beats_the_check():
    host = tiny.host()
    profile = Profile("p", values={"swappiness": 20}, priorities={"swappiness": "P2"})
    finding = only(judge(host, tiny.checks(tiny.SWAPPINESS), profile, today=TODAY), "swappiness")
    assert (finding["verdict"], finding["recommended"], finding["priority"]) == ("fail", 20, "P2")
    overrides = {"swappiness": {"value": "10", "priority": "info"}}
    finding = only(judge(host, tiny.checks(tiny.SWAPPINESS), profile, overrides=overrides, today=TODAY), "swappiness")
    assert (finding["verdict"], finding["recommended"], finding["priority"]) == ("pass", "10", "info")


def test_a_tunable_may_be_left_out_by_an_override():
    host = tiny.host()
    host["sysctl"]["net.core.rmem_max"] = tiny.ok("1")
    fix = fix_of(tiny.BUFFERS, host, overrides={"buffers": {"plan": False}})
    assert fix["not_planned_because"] == "gpuhost_overrides says plan: false"


@pytest.mark.parametrize("choices, message", [
    ({"only": ["swapiness"]}, "gpuhost_only: there is no check 'swapiness': did you mean 'swappiness'?"),
    ({"skip": ["with"]}, "gpuhost_skip: there is no check 'with': did you mean 'width'?"),
    ({"include": ["readrequest"]}, "gpuhost_include: there is no check 'readrequest': did you mean 'read_request'?"),
    ({"include": ["width"]}, "gpuhost_include: check width: its fix has the class manual: a tune only makes runtime "
                             "changes"),
    ({"overrides": {"widht": {}}}, "gpuhost_overrides: there is no check 'widht': did you mean 'width'?"),
    ({"overrides": {"width": 8}}, "gpuhost_overrides: check width: 8 is not a mapping: write {value: 8}"),
    ({"overrides": {"width": {"vlaue": 8}}},
     "gpuhost_overrides: check width: unknown key 'vlaue': did you mean 'value'?"),
    ({"overrides": {"width": {"value": "wide"}}}, 'gpuhost_overrides: check width: value: "wide" is not an int'),
    ({"overrides": {"width": {"value": True}}},
     "gpuhost_overrides: check width: value: true is a boolean, not an int"),
    ({"overrides": {"width": {"priority": "P9"}}},
     "gpuhost_overrides: check width: priority: 'P9' is none of P0, P1, P2, info"),
    ({"overrides": {"width": {"plan": "no"}}}, "gpuhost_overrides: check width: plan: 'no' is neither true nor false"),
    ({"overrides": {"swappiness": {"priority": "P0"}}},
     "gpuhost_overrides: check swappiness: priority: a tunable is never above P1"),
    ({"waivers": [{"check": "widht", "reason": "r", "expires": "2027-01-01"}]},
     "gpuhost_waivers: number 1: there is no check 'widht': did you mean 'width'?"),
])
def test_a_mistake_of_the_user_is_one_message(choices, message):
    with pytest.raises(CatalogueError) as caught:
        judge(tiny.host(), tiny.checks(), tiny.PLAIN, today=TODAY, **choices)
    assert str(caught.value) == message
    with pytest.raises(CatalogueError) as caught:
        resolve(tiny.checks(), tiny.PLAIN, **choices)         # before any host is asked
    assert str(caught.value) == message


def test_only_and_skip():
    choices = {"only": ["buffers", "swappiness"], "skip": ["buffers"]}
    findings = judge(tiny.host(), tiny.checks(), tiny.PLAIN, today=TODAY, **choices)
    assert [one["check"] for one in findings] == ["swappiness"]


# -- waivers ---------------------------------------------------------------------------------------------------

def waived(**waiver):
    host = tiny.host()
    host["gpus"] = [{**tiny.gpu(number), "pcie": tiny.ok({"read_request": 512})} for number in (1, 2)]
    given = [{"check": "read_request", "reason": "agreed", "expires": "2026-12-31", **waiver}]
    findings = judge(host, tiny.checks(tiny.READ_REQUEST), tiny.PLAIN, waivers=given, include=["read_request"],
                     host="pve1", today=TODAY)
    return findings, summary(findings, given, host="pve1", today=TODAY)


def test_a_waiver_keeps_the_verdict_counts_nothing_and_plans_nothing():
    findings, counts = waived(subject="0000:02:00.0")
    assert [one["verdict"] for one in findings] == ["fail", "fail"]
    assert [one["waived"] for one in findings] == [None, {"reason": "agreed", "expires": "2026-12-31"}]
    assert findings[0]["fix"]["planned"] is True
    assert findings[1]["fix"]["not_planned_because"] == "waived until 2026-12-31: agreed"
    assert counts == {"verdicts": {"fail": 2, "unknown": 0, "pass": 0, "not_applicable": 0},
                      "failing": {"P0": 0, "P1": 0, "P2": 1, "info": 0},
                      "things": {"P0": 0, "P1": 0, "P2": 1, "info": 0},
                      "places": {"P0": 0, "P1": 0, "P2": 1, "info": 0}, "waived": 1, "expired_waivers": []}


@pytest.mark.parametrize("waiver, count", [
    ({}, 2), ({"host": "pve1"}, 2), ({"host": "pve2"}, 0), ({"subject": "0000:09:00.0"}, 0),
    ({"expires": "2026-11-29"}, 2), ({"expires": TODAY}, 2), ({"expires": "2026-11-28"}, 0)])
def test_where_and_until_when_a_waiver_counts(waiver, count):
    _findings, counts = waived(**waiver)
    assert counts["waived"] == count
    assert counts["failing"]["P2"] == 2 - count


def test_an_expired_waiver_is_reported():
    _findings, counts = waived(expires=datetime.date(2026, 11, 28), subject="0000:02:00.0")
    assert counts["expired_waivers"] == [
        {"check": "read_request", "subject": "0000:02:00.0", "reason": "agreed", "expires": "2026-11-28"}]


def test_an_expired_waiver_of_another_host_is_not_reported():
    _findings, counts = waived(expires="2026-11-28", host="pve2")
    assert counts["expired_waivers"] == []


# -- whole hosts -----------------------------------------------------------------------------------------------

def test_findings_are_json_and_the_facts_stay_as_they_are():
    host = tiny.host()
    before = json.dumps(host)
    json.dumps(judge(host, tiny.checks(), tiny.PLAIN, today=TODAY), allow_nan=False)
    assert json.dumps(host) == before


def test_facts_without_derived_values_are_completed(monkeypatch):
    module = sys.modules[judge.__module__]
    monkeypatch.setattr(module, "derive", lambda facts, _peers: {**facts, "derived": {"cores": 64}})
    host = tiny.host()
    del host["derived"]
    check = {**tiny.BUFFERS, "actual": "host.derived.cores", "expect": {"op": "equals", "value": 64, "type": "int"}}
    assert only(judge(host, tiny.checks(check), tiny.PLAIN, today=TODAY), "buffers")["verdict"] == "pass"


def _readings(thing):
    """Every reading in the facts, the outer ones first."""
    if isinstance(thing, dict):
        if set(thing) == {"status", "value"}:
            yield thing
        for value in list(thing.values()):
            yield from _readings(value)
    elif isinstance(thing, list):
        for item in thing:
            yield from _readings(item)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_whatever_cannot_be_read_the_shipped_checks_judge(data):
    # A copy: some readings are one object in the facts of all machines.
    facts = copy.deepcopy(neutral_facts.epyc())
    readings = list(_readings(facts))
    for position in data.draw(st.sets(st.integers(0, len(readings) - 1), max_size=60)):
        status = data.draw(st.sampled_from(["absent", "denied", "asleep", "gone", "unparsable"]))
        readings[position].update(status=status, value=None)
    findings = judge(facts, shipped(), load_profile("inference"), today=TODAY)
    assert {one["check"] for one in findings} == {check.id for check in shipped()}
    assert all(one["reason"] for one in findings if one["verdict"] in ("unknown", "not_applicable"))
    assert not [one["reason"] for one in findings if one["verdict"] == "unknown" and "there is no '" in one["reason"]]
    json.dumps([findings, plan(findings, None, facts)], allow_nan=False)
