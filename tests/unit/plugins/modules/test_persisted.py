# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from hosts.persisting import THP, VALUES, persisting, snapshot

SYSCTLS = "/etc/sysctl.d/90-gpuhost.conf"


@pytest.fixture
def root(tree):
    return str(persisting(tree).root)


def test_present_and_absent(call, tree, root):
    before = snapshot(tree)
    answer = call("persisted", {"values": VALUES, "sysroot": root, "run_id": "run-1"})
    assert (answer["changed"], answer["run_id"], answer["ledger"]["run_id"]) == (True, "run-1", "run-1")
    assert f"{SYSCTLS}: written" in answer["msg"]
    assert "sysctl:vm.swappiness is 60 now, and 10 from the next boot on" in answer["msg"]
    assert {one["address"] for one in answer["next_boot"]} >= {"sysctl:vm.swappiness", f"sysfs:{THP}"}
    assert not call("persisted", {"values": VALUES, "sysroot": root})["changed"]
    answer = call("persisted", {"state": "absent", "sysroot": root})
    assert (answer["changed"], answer["ledger"], snapshot(tree)) == (True, None, before)
    answer = call("persisted", {"state": "absent", "sysroot": root})
    assert (answer["changed"], answer["msg"]) == (False, "nothing is persisted")


def test_check_mode_with_diff(call, tree, root):
    before = snapshot(tree)
    answer = call("persisted", {"values": VALUES, "sysroot": root}, check=True, diff=True)
    assert answer["changed"]
    assert snapshot(tree) == before
    shown = {one["after_header"]: one["after"] for one in answer["diff"]}
    assert "\nvm.swappiness = 10\n" in shown[SYSCTLS]


def test_a_conflict_fails_with_its_parts(call, tree, root):
    tree.file("/etc/sysctl.d/99-site.conf", "vm.swappiness = 35\n")
    answer = call("persisted", {"values": VALUES, "sysroot": root})
    assert answer["failed"]
    [conflict] = answer["conflicts"]
    assert (conflict["address"], conflict["path"], conflict["line"], conflict["value"], str(conflict["wanted"])) == (
        "sysctl:vm.swappiness", "/etc/sysctl.d/99-site.conf", 1, "35", "10")


def test_an_edited_file_fails_and_is_named(call, tree, root):
    call("persisted", {"values": VALUES, "sysroot": root})
    tree.file(SYSCTLS, "vm.swappiness = 11")
    answer = call("persisted", {"state": "absent", "sysroot": root})
    assert answer["failed"]
    assert answer["msg"] == f"{SYSCTLS} was edited: it was left as it is, the rest was removed"
    assert answer["changed"]


@pytest.mark.parametrize(("arguments", "message"), [
    ({"values": {}}, "there is no value to persist"),
    ({"values": {"sysctl": {"vm.swappiness": True}}}, "true is a boolean"),
    ({"run_id": "a b", "values": VALUES}, "only letters, digits"),
    ({"sysroot": "/nowhere", "values": VALUES}, "is not a directory on this host"),
])
def test_bad_arguments(call, root, arguments, message):
    answer = call("persisted", {"sysroot": root, **arguments})
    assert answer["failed"]
    assert message in answer["msg"]


def test_a_report_that_was_made_a_host_says_too_little(call, tree, root):
    tree.file("/recorded/answers.json", '{"failures": {}, "links": {}, "open": "the bug report does not have it"}')
    answer = call("persisted", {"values": VALUES, "sysroot": root})
    assert answer["failed"]
    assert "lacks what has to be known first: the bug report does not have it" in answer["msg"]


def test_no_marker_no_write(call, tree, root):
    tree.path("/.gpuhost-sysroot").unlink()
    answer = call("persisted", {"values": VALUES, "sysroot": root})
    assert answer["failed"]
    assert "a directory without it is never written" in answer["msg"]
