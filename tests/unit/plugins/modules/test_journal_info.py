# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from hosts.nvidia import plant_hung, plant_libraries, plant_nvidia
from hosts.pci import plant_gpu, plant_root_port


@pytest.fixture
def root(tree):
    tree.sysctl("kernel.random.boot_id", "boot-1").sysctl("vm.swappiness", 60).sysctl("kernel.numa_balancing", 1)
    return str(tree.root)


def tune(call, root, run_id, **values):
    return call("sysctl_snapshot", {"sysroot": root, "run_id": run_id, "values": {
        {"swappiness": "vm.swappiness", "balancing": "kernel.numa_balancing"}[key]: value
        for key, value in values.items()}})


def info(call, root, **arguments):
    return call("journal_info", {"sysroot": root, **arguments})


def verify(call, root):
    result = call("sysctl_snapshot", {"sysroot": root, "on_refusal": "report",
                                      "values": info(call, root)["expected_values"].get("sysctl", {})}, check=True)
    return {change["address"]: change["outcome"] for change in result["changes"]}


def test_a_host_that_nobody_changed(call, root):
    result = info(call, root)
    assert (result["status"], result["boot_id"], result["changed"]) == ("absent", "boot-1", False)
    assert [result[key] for key in ("runs", "baselines", "restore_values", "expected_values", "left_alone")] == [
        [], [], {}, {}, []]


def test_driver_and_libraries_of_two_versions_are_told(call, root, tree):
    """A-32: a verify is to fail then, whatever the journal has."""
    assert info(call, root)["driver_mismatch"] is None
    plant_nvidia(tree, "570.133.20", gpus=[])
    plant_libraries(tree, "580.95.05")
    assert info(call, root)["driver_mismatch"].startswith("the loaded driver is 570.133.20, libnvidia-ml.so is 580.95")


def test_the_way_back(call, root, tree):
    tune(call, root, "r1", swappiness=10, balancing=0)
    found = info(call, root)
    assert found["restore_values"] == {"sysctl": {
        "kernel.numa_balancing": {"set": "1", "only_from": "0", "restores": True},
        "vm.swappiness": {"set": "60", "only_from": "10", "restores": True}}}
    assert [(run["run_id"], run["this_boot"], len(run["writes"])) for run in found["runs"]] == [("r1", True, 2)]
    call("sysctl_snapshot", {"sysroot": root, "values": found["restore_values"]["sysctl"]})
    assert tree.path("/proc/sys/vm/swappiness").read_text() == "60\n"
    assert info(call, root)["restore_values"] == {}


def test_three_runs_with_a_foreign_change_before_the_third(call, root, tree):
    tune(call, root, "r1", swappiness=10)
    tune(call, root, "r2", swappiness=5)
    tree.sysctl("vm.swappiness", 42)
    tune(call, root, "r3", swappiness=1)
    call("sysctl_snapshot", {"sysroot": root, "values": info(call, root)["restore_values"]["sysctl"]})
    assert tree.path("/proc/sys/vm/swappiness").read_text() == "42\n"


def test_one_run_of_two(call, root):
    tune(call, root, "r1", swappiness=10)
    tune(call, root, "r2", swappiness=5, balancing=0)
    assert info(call, root, run_id="r2")["restore_values"]["sysctl"]["vm.swappiness"]["set"] == "10"
    assert info(call, root, run_id="r1")["left_alone"] == [
        {"address": "sysctl:vm.swappiness", "reason": "run r2 changed it afterwards"}]


def test_verify_tells_fine_from_back_and_from_drift(call, root, tree):
    tune(call, root, "r1", swappiness=10, balancing=0)
    assert verify(call, root) == {"sysctl:kernel.numa_balancing": "unchanged", "sysctl:vm.swappiness": "unchanged"}
    tree.sysctl("vm.swappiness", 60).sysctl("kernel.numa_balancing", 2)
    assert verify(call, root) == {"sysctl:kernel.numa_balancing": "refused", "sysctl:vm.swappiness": "would_change"}


def test_a46_after_a_reboot_everything_is_over(call, root, tree):
    """A-46."""
    tune(call, root, "r1", swappiness=10)
    tree.sysctl("kernel.random.boot_id", "boot-2").sysctl("vm.swappiness", 60)
    found = info(call, root)
    assert (found["boot_id"], found["restore_values"], found["expected_values"]) == ("boot-2", {}, {})
    assert [(run["run_id"], run["boot_id"], run["this_boot"]) for run in found["runs"]] == [("r1", "boot-1", False)]


def test_what_was_set_on_a_gpu_that_hung_is_left_alone(call, root, tree):
    gpu = "0000:01:00.0"
    plant_gpu(tree, gpu, parent=plant_root_port(tree, "0000:00:01.1"))
    tune(call, root, "r1", swappiness=10)
    done = call("pcie_maxreadreq", {"sysroot": root, "run_id": "r1", "values": {gpu: 4096}})
    assert done["changes"][0]["outcome"] == "changed", done["msg"]
    assert list(info(call, root)["restore_values"]) == ["pcie_maxreadreq", "sysctl"]
    plant_hung(tree, gpu)
    found = info(call, root)
    assert list(found["restore_values"]) == ["sysctl"]
    assert [one["address"] for one in found["left_alone"]] == ["pcie_maxreadreq:0000:01:00.0"]
    assert "hung at 2026-11-30T03:00:00Z" in found["left_alone"][0]["reason"]
