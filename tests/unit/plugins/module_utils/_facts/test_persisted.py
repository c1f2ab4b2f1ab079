# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the facts say of persisted values: a ledger, its files and the outcome of a boot, each written by hand."""
from __future__ import annotations

import hashlib
import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot_order.competitors import competitors
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.persisted import read
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import as_facts

from facts_schema import problems
from hosts.managers import plant_systemd

SYSCTLS, UNIT = "/etc/sysctl.d/90-gpuhost.conf", "/etc/systemd/system/gpuhost-boot.service"
ENABLED = "/etc/systemd/system/multi-user.target.wants/gpuhost-boot.service"
GOVERNOR = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
TEXTS = {SYSCTLS: "vm.swappiness = 10\n", UNIT: "[Service]\n"}
BOOT_ID = "0b0b0b0b-0000-4000-8000-000000000000"


def ledger(**changed):
    files = {path: {"sha256": hashlib.sha256(text.encode()).hexdigest(), "mode": "0644"}
             for path, text in TEXTS.items()}
    return {"schema": "gpuhost.persisted/1", "run_id": "r1", "version": "1.0.0", "created_at": "2026-12-01T04:00:00Z",
            "values": {"sysctl": {"vm.swappiness": "10"}, "sysfs": {GOVERNOR: "performance"}},
            "baseline": {"sysctl": {"vm.swappiness": "60"}, "sysfs": {GOVERNOR: "powersave"}},
            "files": {**files, ENABLED: {"link": "../gpuhost-boot.service"}}, "folders": [], "left_out": [],
            "next": None,
            **changed}


def outcome(boot_id=BOOT_ID, error=None):
    change = {"address": f"sysfs:{GOVERNOR}", "before": "powersave", "wanted": "performance", "after": "powersave",
              "outcome": "refused", "reason": "EINVAL (Invalid argument)", "identity": None}
    return {"schema": "gpuhost.boot/1", "boot_id": boot_id, "run_id": "boot-0b0b0b0b", "version": "1.0.0",
            "started_at": "2026-12-01T05:00:00Z", "finished_at": "2026-12-01T05:00:01Z", "error": error,
            "changes": [change]}


@pytest.fixture
def planted(tree, host):
    plant_systemd(tree)
    tree.file("/proc/sys/kernel/random/boot_id", f"{BOOT_ID}\n").file("/proc/stat", "cpu 1\nbtime 1796101200\n")
    tree.sysctl("vm.swappiness", 10).file(GOVERNOR, "powersave\n")
    for path, text in TEXTS.items():
        tree.file(path, text)
    tree.link(ENABLED, "../gpuhost-boot.service")
    tree.file("/var/lib/gpuhost/persisted.json", json.dumps(ledger()))
    tree.file("/run/gpuhost/boot.json", json.dumps(outcome()))
    (tree.root / "run/gpuhost").chmod(0o700)
    return host


def facts(host):
    found = as_facts(read(host, competitors))
    assert problems("persisted", found) == []
    return found


def states(host):
    return {file["path"]: file["state"] for file in facts(host)["files"]}


def test_nothing_is_persisted(host):
    found = facts(host)
    assert (found["ledger"]["status"], found["files"], found["values"]) == ("absent", [], [])


def test_all_of_it(planted):
    found = facts(planted)
    assert found["ledger"]["value"] == {"run_id": "r1", "version": "1.0.0", "created_at": "2026-12-01T04:00:00Z",
                                        "collection": "1.0.0", "unfinished": False}
    assert states(planted) == {SYSCTLS: "intact", UNIT: "intact", ENABLED: "intact"}
    assert found["boot"]["value"] == {"run_id": "boot-0b0b0b0b", "started_at": "2026-12-01T05:00:00Z",
                                      "finished_at": "2026-12-01T05:00:01Z", "error": None}
    swappiness, governor = found["values"]
    assert swappiness == {"address": "sysctl:vm.swappiness", "wanted": "10", "baseline": "60",
                          "now": {"status": "ok", "value": "10"}, "set": None, "competitors": []}
    assert governor["set"] == {"outcome": "refused", "before": "powersave", "after": "powersave",
                               "reason": "EINVAL (Invalid argument)"}
    # 2026-12-01T05:00:00Z
    assert (found["this_boot"], found["rebooted"]) == (True, True)


def test_who_else_sets_a_value(tree, planted):
    tree.file("/etc/sysctl.d/99-a.conf", "vm.swappiness = 60\n")
    assert facts(planted)["values"][0]["competitors"] == [
        {"path": "/etc/sysctl.d/99-a.conf", "line": 1, "key": "vm.swappiness", "value": "60", "wins": True,
         "why": "99-a.conf is read after 90-gpuhost.conf"}]


def test_an_audit_does_not_look_for_who_else_sets_a_value(planted):
    assert [value["competitors"] for value in as_facts(read(planted))["values"]] == [None, None]


def test_the_outcome_of_another_boot_says_nothing_of_this_one(tree, planted):
    tree.file("/run/gpuhost/boot.json", json.dumps(outcome(boot_id="another")))
    found = facts(planted)
    assert (found["this_boot"], found["values"][1]["set"]) == (False, None)


@pytest.mark.parametrize(("btime", "rebooted"), [("1796101200", True), ("1796090000", False), ("", None)])
def test_whether_it_was_booted_since(tree, planted, btime, rebooted):
    tree.file("/proc/stat", f"cpu 1\nbtime {btime}\n")
    assert facts(planted)["rebooted"] is rebooted


def test_files_that_are_not_as_they_were_written(tree, planted):
    tree.file(SYSCTLS, "vm.swappiness = 60\n")
    (tree.root / UNIT[1:]).unlink()
    (tree.root / ENABLED[1:]).unlink()
    tree.link(ENABLED, "/dev/null")
    assert states(planted) == {SYSCTLS: "edited", UNIT: "missing", ENABLED: "edited"}


def test_a_link_in_the_place_of_a_file_is_an_edit(tree, planted):
    (tree.root / UNIT[1:]).unlink()
    tree.link(UNIT, "/dev/null")
    assert states(planted)[UNIT] == "edited"


def test_a_run_that_was_killed(tree, planted):
    tree.file("/var/lib/gpuhost/persisted.json", json.dumps(ledger(next={
        "run_id": "r2", "version": "1.0.0", "files": {}, "folders": []})))
    assert facts(planted)["ledger"]["value"]["unfinished"] is True


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps(ledger(values={"sysctl": {"vm/../x": "1"}})),
                                  json.dumps(ledger(values={"firmware": {"x": "1"}})), "[" * 100_000])
def test_a_ledger_that_is_none(tree, planted, text):
    tree.file("/var/lib/gpuhost/persisted.json", text)
    found = facts(planted)
    assert (found["ledger"]["status"], found["values"]) == ("unparsable", [])
