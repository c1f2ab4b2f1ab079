# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import os

import pytest

BEFORE = {"kernel.numa_balancing": 1, "kernel.nmi_watchdog": 1, "kernel.sched_autogroup_enabled": 1,
          "vm.swappiness": 60, "vm.dirty_ratio": 20, "vm.dirty_bytes": 0,
          "vm.dirty_background_ratio": 10, "vm.dirty_background_bytes": 0,
          "net.core.rmem_max": 212992, "net.core.wmem_max": 212992}
WANTED = {"kernel.numa_balancing": 0, "kernel.nmi_watchdog": 0, "kernel.sched_autogroup_enabled": 0,
          "vm.swappiness": 10, "vm.dirty_ratio": 10, "vm.dirty_background_ratio": 5,
          "net.core.rmem_max": {"at_least": 16777216}, "net.core.wmem_max": {"at_least": 16777216}}


@pytest.fixture
def root(tree):
    for key, value in BEFORE.items():
        tree.sysctl(key, value)
    tree.sysctl("kernel.random.boot_id", "boot-1").file("/etc/sysctl.conf", "vm.swappiness = 60\n#  kept \n")
    return str(tree.root)


def digest(tree, *folders):
    """Bytes and modification times of everything below some folders."""
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted(tree.path(folder).rglob("*")):
            seen = path.lstat()
            found.update(f"{path} {seen.st_mtime_ns} {seen.st_mode}".encode())
            if path.is_file():
                found.update(path.read_bytes())
    return found.hexdigest()


def test_without_a_wanted_value_it_only_reads(call, root, tree):
    before = digest(tree, "/")
    result = call("sysctl_snapshot", {"sysroot": root, "keys": ["vm.swappiness", "vm.none"]}, diff=True)
    assert (result["changed"], result["changes"], result["diff"]) == (False, [], {"before": "", "after": ""})
    assert [tuple(reading.values()) for reading in result["readings"]] == [
        ("sysctl:vm.swappiness", "ok", "60", None),
        ("sysctl:vm.none", "absent", None, "ENOENT (No such file or directory)")]
    assert digest(tree, "/") == before


def test_the_twelve_steps(call, root, tree):
    """Change in check mode, change, again in check mode, again, and the same for the way back."""
    arguments = {"sysroot": root, "values": WANTED}
    whole = digest(tree, "/")
    predicted = call("sysctl_snapshot", arguments, check=True, diff=True)
    assert digest(tree, "/") == whole
    done = call("sysctl_snapshot", arguments, diff=True)
    assert predicted["changed"] and done["changed"]
    assert predicted["diff"] == done["diff"]
    assert [change["outcome"] for change in done["changes"]] == ["changed"] * 8
    assert not call("sysctl_snapshot", arguments, check=True)["changed"]
    assert not call("sysctl_snapshot", arguments)["changed"]
    back = {"sysroot": root, "values": done["snapshot"]}
    assert done["snapshot"] == {key: str(value) for key, value in BEFORE.items()}
    assert call("sysctl_snapshot", back, check=True)["changed"]
    assert call("sysctl_snapshot", back)["changed"]
    assert not call("sysctl_snapshot", back, check=True)["changed"]
    assert not call("sysctl_snapshot", back)["changed"]
    assert {key: tree.path("/proc/sys/" + key.replace(".", "/")).read_text() for key in BEFORE} == {
        key: f"{value}\n" for key, value in BEFORE.items()}


def test_the_diff_has_a_line_a_tunable(call, root):
    result = call("sysctl_snapshot", {"sysroot": root, "values": {"vm.swappiness": 10, "kernel.numa_balancing": 1}},
                  diff=True)
    assert result["diff"] == {"before": "sysctl:vm.swappiness = 60\n", "after": "sysctl:vm.swappiness = 10\n"}
    assert "diff" not in call("sysctl_snapshot", {"sysroot": root, "values": {"vm.swappiness": 60}})


def test_a_refusal_fails_at_the_end_with_a_line_for_every_tunable(call, root, tree):
    tree.path("/proc/sys/kernel/nmi_watchdog").chmod(0o444)
    values = {"vm.swappiness": 10, "kernel.nmi_watchdog": 0}
    result = call("sysctl_snapshot", {"sysroot": root, "values": values})
    assert (result["failed"], result["changed"]) == (True, True)
    assert result["msg"].splitlines() == [
        "sysctl:vm.swappiness: changed: 60 -> 10",
        "sysctl:kernel.nmi_watchdog: refused: wanted 0, found 1: EACCES (Permission denied): "
        "the file mode is 0444"]
    assert result["snapshot"]["vm.swappiness"] == "60"


def test_report_never_fails_for_a_refusal(call, root, tree):
    tree.path("/proc/sys/kernel/nmi_watchdog").chmod(0o444)
    result = call("sysctl_snapshot", {"sysroot": root, "values": {"kernel.nmi_watchdog": 0}, "on_refusal": "report"})
    assert "failed" not in result
    assert result["changes"][0]["outcome"] == "refused"


def test_undo_fails_and_leaves_everything_as_it_was(call, root, tree):
    tree.path("/proc/sys/kernel/nmi_watchdog").chmod(0o444)
    before = digest(tree, "/proc")
    result = call("sysctl_snapshot", {"sysroot": root, "values": {"vm.swappiness": 10, "kernel.nmi_watchdog": 0},
                                      "on_refusal": "undo"})
    assert result["failed"]
    assert digest(tree, "/proc") == before


def test_in_check_mode_a_refusal_is_a_result(call, root, tree):
    tree.path("/proc/sys/kernel/nmi_watchdog").chmod(0o444)
    result = call("sysctl_snapshot", {"sysroot": root, "values": {"kernel.nmi_watchdog": 0}}, check=True)
    assert "failed" not in result
    assert result["changes"][0]["outcome"] == "refused"


@pytest.mark.parametrize("on_refusal", ["keep", "undo", "report"])
@pytest.mark.parametrize(("values", "message"), [
    ({"vm.swappiness": True}, "boolean"), ({"vm.swappiness": None}, "neither a number nor text"),
    ({"vm.swappiness": 0.5}, "neither a number nor text"), ({"vm.swappiness": [10]}, "neither a number nor text"),
    ({"vm.swappiness": {"at_most": 10}}, "unknown: at_most"), ({"../vm/swappiness": 10}, "not a sysctl key"),
    ({"/proc/sys/vm/swappiness": 10}, "not a sysctl key"), ({"vm.swappiness": ""}, "empty"),
    ({"vm.dirty_ratio": 10, "vm.dirty_bytes": 1048576}, "ratio/bytes alias pair")])
def test_nonsense_is_rejected_before_anything_is_touched(call, root, tree, values, message, on_refusal):
    before = digest(tree, "/")
    for check in (True, False):
        result = call("sysctl_snapshot", {"sysroot": root, "values": {"kernel.numa_balancing": 0, **values},
                                          "on_refusal": on_refusal}, check=check)
        assert result["failed"]
        assert message in result["msg"]
    assert digest(tree, "/") == before


def test_a_bad_run_id_is_rejected(call, root):
    assert "run_id" in call("sysctl_snapshot", {"sysroot": root, "run_id": "../x"})["msg"]


def test_the_run_id_is_in_answer_and_journal(call, root, tree):
    result = call("sysctl_snapshot", {"sysroot": root, "run_id": "20261129T183000Z-4f2a",
                                      "values": {"vm.swappiness": 10}})
    assert result["run_id"] == "20261129T183000Z-4f2a"
    assert tree.path("/run/gpuhost/journal.jsonl").read_text().count('"run": "20261129T183000Z-4f2a"') == 2


def test_nothing_below_etc_is_touched(call, root, tree):
    before = digest(tree, "/etc")
    call("sysctl_snapshot", {"sysroot": root, "values": WANTED})
    assert digest(tree, "/etc") == before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to write /proc/sys")
@pytest.mark.parametrize("key", ["vm.vfs_cache_pressure", "vm.stat_interval", "net.ipv4.ip_local_port_range"])
def test_on_the_kernel_of_this_machine(call, key):
    """A real change of a harmless tunable, brought back also if something fails in between."""
    path = "/proc/sys/" + key.replace(".", "/")
    wanted = {"vm.vfs_cache_pressure": "101", "vm.stat_interval": "2", "net.ipv4.ip_local_port_range": "32768 60998"}
    if not os.access(path, os.W_OK):
        pytest.skip(f"{path} is not writable here")
    with open(path, encoding="ascii") as file:
        before = file.read()
    try:
        done = call("sysctl_snapshot", {"values": {key: wanted[key]}})
        with open(path, encoding="ascii") as file:
            assert file.read().split() == wanted[key].split()
        again = call("sysctl_snapshot", {"values": {key: wanted[key]}})
        assert again["changed"] is False
        call("sysctl_snapshot", {"values": done["snapshot"]})
        with open(path, encoding="ascii") as file:
            assert file.read() == before
    finally:
        with open(path, "w", encoding="ascii") as file:
            file.write(before)
