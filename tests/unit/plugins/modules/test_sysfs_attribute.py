# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os

import pytest

from hosts.cpu import CPUFREQ, plant_frequency, policy_path
from hosts.memory import THP, plant_thp

GOVERNORS = f"{CPUFREQ}/policy*/scaling_governor"


@pytest.fixture
def root(tree):
    plant_frequency(tree, range(4), governor="schedutil", boost=0)
    plant_thp(tree, enabled="always")
    tree.sysctl("kernel.random.boot_id", "boot-1")
    return str(tree.root)


def test_without_a_wanted_value_it_only_reads(call, root, tree):
    result = call("sysfs_attribute", {"sysroot": root, "paths": [GOVERNORS, f"{THP}/enabled", "/sys/kernel/mm/none"]})
    assert [reading["value"] for reading in result["readings"]] == ["schedutil"] * 4 + ["always", None]
    assert (result["changed"], tree.path("/run").exists()) == (False, False)
    assert result["snapshot"][f"{THP}/enabled"] == "always"


def test_there_and_back(call, root):
    values = {GOVERNORS: "performance", f"{CPUFREQ}/boost": "1", f"{THP}/enabled": "madvise"}
    predicted = call("sysfs_attribute", {"sysroot": root, "values": values}, check=True, diff=True)
    done = call("sysfs_attribute", {"sysroot": root, "values": values}, diff=True)
    assert predicted["diff"] == done["diff"]
    assert done["diff"]["before"].count(" = schedutil\n") == 4
    assert call("sysfs_attribute", {"sysroot": root, "values": values})["changed"] is False
    back = call("sysfs_attribute", {"sysroot": root, "values": done["snapshot"]})
    assert back["changed"] is True
    found = call("sysfs_attribute", {"sysroot": root, "paths": [GOVERNORS, f"{CPUFREQ}/boost", f"{THP}/enabled"]})
    assert [reading["value"] for reading in found["readings"]] == ["schedutil"] * 4 + ["0", "always"]


def test_yaml_on_is_rejected(call, root):
    result = call("sysfs_attribute", {"sysroot": root, "values": {f"{CPUFREQ}/boost": True}})
    assert "true is a boolean: quote it in YAML" in result["msg"]


def test_a_forbidden_file_fails_and_the_others_are_done(call, root):
    result = call("sysfs_attribute", {"sysroot": root, "values": {
        "/sys/bus/pci/rescan": "1", f"{THP}/enabled": "madvise"}})
    assert result["failed"]
    assert {change["address"]: change["outcome"] for change in result["changes"]} == {
        "sysfs:/sys/bus/pci/rescan": "refused", f"sysfs:{THP}/enabled": "changed"}


def test_a_whole_host_in_one_call(call, tree):
    """256 policies with governor and preference: 512 tunables."""
    plant_frequency(tree, range(256), driver="amd-pstate-epp", governor="powersave", epp="balance_performance")
    values = {GOVERNORS: "performance", f"{CPUFREQ}/policy*/energy_performance_preference": "performance"}
    result = call("sysfs_attribute", {"sysroot": str(tree.root), "values": values})
    assert [change["outcome"] for change in result["changes"]].count("changed") == 512
    assert tree.path(policy_path(255, "scaling_governor")).read_text() == "performance\n"


@pytest.mark.skipif(not os.access(f"{THP}/khugepaged/scan_sleep_millisecs", os.W_OK), reason="not writable here")
def test_on_the_kernel_of_this_machine(call):
    """A real change of a harmless tunable, brought back also if something fails in between."""
    path = f"{THP}/khugepaged/scan_sleep_millisecs"
    with open(path, encoding="ascii") as file:
        before = file.read()
    wanted = str(int(before) + 1)
    try:
        done = call("sysfs_attribute", {"values": {path: wanted}})
        with open(path, encoding="ascii") as file:
            assert file.read().strip() == wanted
        assert call("sysfs_attribute", {"values": {path: wanted}})["changed"] is False
        refused = call("sysfs_attribute", {"values": {f"{THP}/enabled": "sometimes"}})
        assert refused["changes"][0]["error"] == "EINVAL (Invalid argument)"
        call("sysfs_attribute", {"values": done["snapshot"]})
        with open(path, encoding="ascii") as file:
            assert file.read() == before
    finally:
        with open(path, "w", encoding="ascii") as file:
            file.write(before)
