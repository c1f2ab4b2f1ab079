# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

GOVERNOR = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_governor"


@pytest.fixture
def root(tree):
    tree.sysctl("vm.swappiness", 60)
    tree.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    for number in (0, 1):
        tree.file(GOVERNOR.format(number), "schedutil\n")
    return str(tree.root)


def test_each_kind_is_read_by_address(call, root):
    answer = call("tunable_info", {"sysroot": root, "addresses": [
        "sysctl:vm.swappiness", "sysfs:/sys/kernel/mm/transparent_hugepage/enabled", "module:nvidia_peermem"]})
    assert answer["changed"] is False
    assert [(one["address"], one["status"], one["value"]) for one in answer["readings"]] == [
        ("sysctl:vm.swappiness", "ok", "60"),
        ("sysfs:/sys/kernel/mm/transparent_hugepage/enabled", "ok", "madvise"),
        ("module:nvidia_peermem", "ok", "absent")]


def test_a_pattern_stands_for_all_files_that_match(call, root):
    answer = call("tunable_info", {"sysroot": root, "addresses": ["sysfs:" + GOVERNOR.format("*")]})
    assert [(one["address"], one["value"]) for one in answer["readings"]] == [
        ("sysfs:" + GOVERNOR.format(0), "schedutil"), ("sysfs:" + GOVERNOR.format(1), "schedutil")]


def test_what_cannot_be_read_says_why(call, root):
    answer = call("tunable_info", {"sysroot": root, "addresses": ["sysctl:vm.laptop_mode", "sysfs:/etc/shadow"]})
    assert [(one["status"], one["value"]) for one in answer["readings"]] == [("absent", None), ("denied", None)]
    assert all(one["detail"] for one in answer["readings"])


@pytest.mark.parametrize("address", ["vm.swappiness", "sysctl:", "registry:vm.swappiness"])
def test_an_address_that_is_none_is_named(call, root, address):
    answer = call("tunable_info", {"sysroot": root, "addresses": [address]})
    assert answer["failed"] is True
    assert repr(address) in answer["msg"]


def test_nothing_is_written(call, root, tree):
    before = {path: path.lstat().st_mtime_ns for path in tree.root.rglob("*")}
    call("tunable_info", {"sysroot": root, "addresses": ["sysctl:vm.swappiness", "module:nvidia_peermem"]})
    assert {path: path.lstat().st_mtime_ns for path in tree.root.rglob("*")} == before
