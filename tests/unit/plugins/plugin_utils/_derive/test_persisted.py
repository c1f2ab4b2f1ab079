# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a persisted value, by what the host has of it: facts written by hand, each state by its cause."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.persisted import (
    describe,
    older_version,
    persisted_lines,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan.kept import Kept

from facts_schema import problems
from neutral_facts import lacking, nothing_persisted, ok

SWAPPINESS, GOVERNOR = "sysctl:vm.swappiness", "sysfs:/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
MRRS, PEERMEM = "pcie_maxreadreq:0000:41:00.0", "module:nvidia_peermem"
SYSCTLS, UNIT = "/etc/sysctl.d/90-gpuhost.conf", "/etc/systemd/system/gpuhost-boot.service"
LEDGER = {"run_id": "20261201T040000Z-aaaa", "version": "1.0.0", "created_at": "2026-12-01T04:00:00Z",
          "collection": "1.0.0", "unfinished": False}


def item(address=SWAPPINESS, wanted="10", now=None, baseline="60", done=None, competitors=()):
    return {"address": address, "wanted": wanted, "baseline": baseline, "now": ok(wanted) if now is None else now,
            "set": done, "competitors": list(competitors)}


def other(path="/etc/sysctl.d/99-a.conf", line=2, value="60", wins=True, why="99-a.conf is read after 90-gpuhost.conf"):
    return {"path": path, "line": line, "key": "vm.swappiness", "value": value, "wins": wins, "why": why}


def done(outcome, reason=None, before="powersave", after="powersave"):
    return {"outcome": outcome, "before": before, "after": after, "reason": reason}


def section(*values, files=(), error=None, ran=True, rebooted=True, **ledger):
    boot = ok({"run_id": "boot-1", "started_at": "2026-12-01T05:00:00Z", "finished_at": "2026-12-01T05:00:02Z",
               "error": error})
    return {"ledger": ok({**LEDGER, **ledger}), "boot": boot if ran else lacking(), "this_boot": ran,
            "files": [{"path": SYSCTLS, "state": "intact"}, {"path": UNIT, "state": "intact"}, *files],
            "rebooted": rebooted, "values": list(values)}


def only(*values, **given):
    found = section(*values, **given)
    assert problems("persisted", found) == []
    line, = persisted_lines(found)
    return line["state"], line["reason"], line["by"]


def test_nothing_is_persisted():
    assert persisted_lines(nothing_persisted()) == []
    assert Kept(nothing_persisted()).answer() == {"persisted": [], "persisted_older": None, "persisted_msg": ""}
    assert Kept(nothing_persisted()).shown("pve1") == []


@pytest.mark.parametrize("value", [
    item(), item(wanted="4096\t131072", now=ok("4096 131072")), item(MRRS, 4096, ok(4096), 512),
    item(wanted={"at_least": 16777216}, now=ok("33554432")), item(PEERMEM, "present", ok("present"), "absent"),
    item(competitors=[other(wins=False)])])
def test_a_value_in_effect_is_applied(value):
    assert only(value) == ("applied", None, None)


@pytest.mark.parametrize(("status", "words"), [
    ("absent", "does not have it"), ("gone", "all ones"), ("passed_through", "guest"), ("asleep", "suspended")])
def test_a_device_that_is_not_there_is_no_failure(status, words):
    state, reason, _by = only(item(MRRS, 4096, lacking(status), 512))
    assert (state, words in reason) == ("device_absent", True)


def test_another_file_overrules():
    assert only(item(now=ok("60"), competitors=[other(wins=False), other()])) == (
        "overruled", "/etc/sysctl.d/99-a.conf, line 2, sets 60: 99-a.conf is read after 90-gpuhost.conf",
        "/etc/sysctl.d/99-a.conf, line 2")


def test_a_file_that_will_overrule_counts_before_the_next_boot():
    assert only(item(competitors=[other(line=0, value=None)])) == (
        "overruled", "it is in effect now, and at the next boot /etc/sysctl.d/99-a.conf sets it: 99-a.conf is read "
        "after 90-gpuhost.conf", "/etc/sysctl.d/99-a.conf")


def test_somebody_of_whom_no_file_knows():
    state, reason, by = only(item(now=ok("33")))
    assert (state, by, "manual change" in reason) == ("overruled", None, True)


def test_an_audit_says_where_to_ask_who():
    assert only({**item(now=ok("33")), "competitors": None})[1] == "somebody set it since: verify.yml looks for who"


def test_a_sysctl_with_the_value_of_before_was_not_set_at_boot():
    assert only(item(now=ok("60"))) == (
        "failed", "it has the value of before: see journalctl -b -u systemd-sysctl", None)
    assert only(item(now=ok("60")), rebooted=False)[0] == "overruled"


@pytest.mark.parametrize("outcome", ["refused", "reverted", "skipped"])
def test_the_words_of_the_service(outcome):
    value = item(GOVERNOR, "performance", ok("powersave"), "powersave", done(outcome, "EINVAL (Invalid argument)"))
    assert only(value) == ("failed", "gpuhost-boot.service: EINVAL (Invalid argument)", None)


def test_what_the_service_set_was_set_again_by_somebody():
    value = item(GOVERNOR, "performance", ok("powersave"), "powersave", done("changed", after="performance"))
    assert only(value)[0] == "overruled"
    tuned = other("/usr/lib/tuned/balanced/tuned.conf", 7, "powersave", why="TuneD is not ordered against gpuhost-boot")
    assert only({**value, "competitors": [tuned]})[::2] == ("overruled", "/usr/lib/tuned/balanced/tuned.conf, line 7")


@pytest.mark.parametrize(("given", "words"), [
    ({"ran": False}, "has not run since boot"),
    ({"error": "boot.json: denied"}, "gpuhost-boot.service: boot.json: denied"), ({}, "has not come to it")])
def test_a_service_that_did_not_run(given, words):
    state, reason, _by = only(item(GOVERNOR, "performance", ok("powersave"), "powersave"), **given)
    assert (state, words in reason) == ("failed", True)


def test_without_a_reboot_the_service_need_not_have_run():
    value = item(GOVERNOR, "performance", ok("powersave"), "powersave")
    assert only(value, ran=False, rebooted=False)[0] == "overruled"


@pytest.mark.parametrize(("path", "state", "address", "found"), [
    (SYSCTLS, "edited", SWAPPINESS, "60"), (SYSCTLS, "missing", SWAPPINESS, "60"),
    (UNIT, "missing", GOVERNOR, "powersave"), (UNIT, "edited", GOVERNOR, "powersave")])
def test_a_file_that_is_not_as_it_was_written(path, state, address, found):
    value = item(address, "wanted", ok(found), found, done("refused", "no"))
    given = section(value)
    given["files"] = [{"path": path, "state": state}]
    of_value, of_file = persisted_lines(given)
    assert (of_value["state"], of_value["reason"]) == (state, f"{path} is {state}")
    assert (of_file["address"], of_file["state"]) == (path, state)
    # The other kind's value does not hang on it.
    given["values"] = [item(GOVERNOR if address == SWAPPINESS else SWAPPINESS, "now", ok("now"))]
    assert [line["state"] for line in persisted_lines(given)] == ["applied", state]


def test_a_file_alone_fails_although_the_values_are_in_effect():
    given = section(item())
    given["files"] = [{"path": SYSCTLS, "state": "edited"}]
    assert Kept(given).answer()["persisted_msg"] == f"{SYSCTLS}: edited: somebody changed it since it was written"


@pytest.mark.parametrize(("status", "words"), [("denied", "cannot be read"), ("unparsable", "nothing is known")])
def test_a_ledger_that_tells_nothing(status, words):
    line, = persisted_lines({**nothing_persisted(), "ledger": lacking(status)})
    assert (line["state"], words in line["reason"]) == ("failed", True)


def test_a_killed_run_is_told():
    *_values, line = persisted_lines(section(item(), unfinished=True))
    assert (line["state"], "was killed" in line["reason"]) == ("failed", True)


@pytest.mark.parametrize(("version", "collection", "older"), [
    ("1.0.0", "1.0.0", False), ("1.0.0", "1.0.1", True), ("1.9.0", "1.10.0", True), ("2.0.0", "1.10.0", False)])
def test_files_of_an_older_collection(version, collection, older):
    said = older_version(section(item(), version=version, collection=collection))
    assert (said is not None and "older than this collection" in said) is older


def test_what_the_terminal_gets():
    kept = Kept(section(item(), item("sysctl:vm.dirty_ratio", "5", ok("20"), "20", competitors=[other(value="20")]),
                        version="0.9.0"))
    assert kept.shown("pve1") == [
        "pve1: persisted: 1 overruled, 1 applied",
        "  sysctl:vm.dirty_ratio: overruled: wanted 5, found 20: /etc/sysctl.d/99-a.conf, line 2, sets 20: 99-a.conf "
        "is read after 90-gpuhost.conf",
        "pve1: persisted by version 0.9.0, older than this collection (1.0.0): run persist.yml again to replace "
        "the files"]
    assert describe(kept.lines[0]) == "sysctl:vm.swappiness: applied: wanted 10, found 10"
