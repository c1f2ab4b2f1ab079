# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The story from end to end over a planted node: look, change, look again, drift, back, reboot."""
from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import threading
import time

import pytest

from facts_schema import document_problems
from hosts.nvidia import plant_libraries
from hosts.others import container
from hosts.pci import DEVICES, bind
from hosts.proxmox import plant_cluster, plant_tasks
from hosts.story_before import GPUS, all_ones_on, story_before

# Written down by hand: what the default profile changes on this node, before and after.
SYSCTLS = {
    "kernel.numa_balancing": ("1", "0"), "kernel.nmi_watchdog": ("1", "0"),
    "kernel.sched_autogroup_enabled": ("1", "0"),
    "vm.dirty_ratio": ("20", "10"), "vm.dirty_background_ratio": ("10", "5"),
    "net.core.rmem_max": ("212992", "16777216"), "net.core.wmem_max": ("212992", "16777216"),
}
BEFORE, AFTER = 0, 1
REGISTER = 0x60 + 9        # high byte of Device Control; MaxReadReq is its bits 6:4


@pytest.fixture
def story(make_tree):
    return story_before(make_tree("pve1"))


def sysctl(tree, key):
    return tree.path("/proc/sys/" + key.replace(".", "/")).read_text().strip()


def read_request_code(tree, address):
    return tree.path(f"{DEVICES}/{address}/config").read_bytes()[REGISTER] >> 4 & 7


def fingerprint(tree):
    """Every file of the node but our own journal, by content."""
    found = {}
    for folder, _folders, files in os.walk(tree.root):
        for name in files:
            path = pathlib.Path(folder, name)
            if "/run/gpuhost" not in str(path):
                found[str(path.relative_to(tree.root))] = str(path.readlink()) if path.is_symlink() else \
                    hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def assert_state(tree, state, but=()):
    for key, values in SYSCTLS.items():
        if key not in but:
            assert (key, sysctl(tree, key)) == (key, values[state])
    # 010b is 512 bytes, 101b is 4096.
    assert [read_request_code(tree, address) for address in GPUS] == [(2, 5)[state]] * 8


def outcomes(run, host="pve1"):
    setters = ("sysctl_snapshot", "sysfs_attribute", "pcie_maxreadreq", "nvidia_module")
    changes = [change for one in run.of(host) if one.action.rpartition(".")[2] in setters
               for change in one.result.get("changes", [])]
    return {change["address"]: change["outcome"] for change in changes}


def test_the_story(controller, story):
    untouched = fingerprint(story)
    hosts = {"pve1": story}
    planned = {f"sysctl:{key}" for key in SYSCTLS} | {f"pcie_maxreadreq:{address}" for address in GPUS}

    # --check --diff tells what would change, and changes nothing.
    check = controller.play("tune_runtime.yml", hosts, "--check", "--diff").succeeded()
    assert outcomes(check) == dict.fromkeys(planned, "would_change")
    assert "-sysctl:kernel.numa_balancing = 1" in check.stdout
    assert "+pcie_maxreadreq:0000:81:00.0 = 4096" in check.stdout
    assert fingerprint(story) == untouched
    assert not story.path("/run/gpuhost").exists()
    run_folder, = (path for path in (controller.reports / "pve1").iterdir() if path.is_dir())
    assert sorted(path.name for path in run_folder.iterdir()) == ["before.json", "plan.json"]
    assert json.loads((run_folder / "before.json").read_text())["values"]["sysctl"]["net.core.rmem_max"] == "212992"
    shutil.rmtree(run_folder)

    # The run makes exactly those changes, reads them back, and shows them.
    tuned = controller.play("tune_runtime.yml", hosts).succeeded()
    assert outcomes(tuned) == dict.fromkeys(planned, "changed")
    assert_state(story, AFTER)
    assert sysctl(story, "kernel.perf_event_paranoid") == "4"
    assert sysctl(story, "vm.swappiness") == "60"
    assert "sysctl:vm.swappiness: skipped: not applicable: no swap is active" in tuned.stdout
    assert "module:nvidia_peermem: skipped: not applicable: no RDMA device" in tuned.stdout
    run_folder, = (path for path in (controller.reports / "pve1").iterdir() if path.is_dir())
    after = json.loads((run_folder / "after.json").read_text())
    assert document_problems("audit.json", after) == []
    report = (controller.reports / "pve1" / "system-improve.md").read_text()
    assert f"## What run `{run_folder.name}` changed" in report
    assert "| `sysctl:kernel.numa_balancing` | `1` | `0` | `0` | changed |" in report
    assert "`gpuhost.tuning.persist` makes all that a tune changed last" in report

    # Once more: nothing to do, nothing done.
    again = controller.play("tune_runtime.yml", hosts).succeeded()
    assert again.changed("pve1") == 0
    assert outcomes(again) == {}

    # All of it is verified; a hand is seen, on the one GPU and the one sysctl that it touched.
    assert "pve1: 15 fine" in controller.play("verify.yml", hosts).succeeded().stdout
    story.sysctl("vm.dirty_ratio", 35)
    config = bytearray(story.path(f"{DEVICES}/0000:61:00.0/config").read_bytes())
    config[REGISTER] = config[REGISTER] & 0x8F | 3 << 4         # 1024 bytes
    story.file(f"{DEVICES}/0000:61:00.0/config", bytes(config))
    drift = controller.play("verify.yml", hosts).failed()
    assert "pve1: 2 drift, 13 fine" in drift.stdout
    assert "sysctl:vm.dirty_ratio: drift: wanted 10, found 35: changed by something else" in drift.stdout
    assert "pcie_maxreadreq:0000:61:00.0: drift: wanted 4096, found 1024" in drift.stdout

    # Restore brings back what is still ours, leaves the hand's work alone and says so.
    restored = controller.play("restore.yml", hosts).failed()
    assert outcomes(restored)["sysctl:vm.dirty_ratio"] == "refused"
    assert outcomes(restored)["pcie_maxreadreq:0000:61:00.0"] == "refused"
    assert sysctl(story, "vm.dirty_ratio") == "35"
    assert sysctl(story, "kernel.numa_balancing") == "1"
    assert read_request_code(story, "0000:61:00.0") == 3

    # By name it is forced, and then the node is what it was, to the byte.
    controller.play("restore.yml", hosts, variables={
        "gpuhost_force": ["sysctl:vm.dirty_ratio", "pcie_maxreadreq:0000:61:00.0"]}).succeeded()
    assert_state(story, BEFORE)
    assert "nothing to restore" in controller.play("restore.yml", hosts).succeeded().stdout
    assert {name: text for name, text in fingerprint(story).items() if "proc/sys/" not in name} == \
        {name: text for name, text in untouched.items() if "proc/sys/" not in name}


@pytest.mark.one_core
def test_a_reboot_ends_it_all_without_an_error(controller, make_tree, story):
    controller.play("tune_runtime.yml", {"pve1": story}).succeeded()
    rebooted = story_before(make_tree("pve1-rebooted"))
    rebooted.file("/proc/sys/kernel/random/boot_id", "7e0d1a52-11f4-4a39-8f3e-2d1b0b6a9c44")
    verified = controller.play("verify.yml", {"pve1": rebooted}).succeeded()
    assert "15 expired" in verified.stdout
    assert "the reboot reset its changes" in verified.stdout
    restored = controller.play("restore.yml", {"pve1": rebooted}).succeeded()
    assert restored.changed("pve1") == 0
    assert "belongs to another boot" in restored.stdout
    # The plan of that run can be applied again.
    plan = next((controller.reports / "pve1").glob("*/plan.json"))
    again = controller.play("tune_runtime.yml", {"pve1": rebooted}, variables={
        "gpuhost_values": str(plan), "gpuhost_only": ["kernel_release"]}).succeeded()
    assert again.changed("pve1") == 2
    assert_state(rebooted, AFTER)


@pytest.mark.one_core
def test_a32_a_verify_fails_while_driver_and_libraries_differ(controller, story):
    """A-32: against the journal, which has nothing to hold, and against the profile; a tune leaves GPUs alone."""
    hosts = {"pve1": story}
    plant_libraries(story, "580.95.05")
    reason = "the loaded driver is 570.133.20, libnvidia-ml"
    assert reason in controller.play("verify.yml", hosts).failed().stdout
    profile = controller.play("verify.yml", hosts, variables={"gpuhost_verify_against": "profile"}).failed()
    assert reason in profile.stdout
    tuned = controller.play("tune_runtime.yml", hosts).succeeded()
    assert outcomes(tuned) == {f"sysctl:{key}": "changed" for key in SYSCTLS}
    assert [read_request_code(story, address) for address in GPUS] == [2] * 8


@pytest.mark.one_core
def test_swappiness_is_set_where_there_is_swap(controller, make_tree):
    node = story_before(make_tree("pve1"), swap=True)
    run = controller.play("tune_runtime.yml", {"pve1": node}, variables={"gpuhost_only": ["swappiness"]}).succeeded()
    assert outcomes(run) == {"sysctl:vm.swappiness": "changed"}
    assert sysctl(node, "vm.swappiness") == "10"


@pytest.mark.one_core
def test_gpus_that_cannot_be_written_are_skipped_with_their_reason(controller, story):
    lost, passed = "0000:41:00.0", "0000:61:00.0"
    all_ones_on(story, lost)
    bind(story, passed, "vfio-pci")
    run = controller.play("tune_runtime.yml", {"pve1": story}, variables={
        "gpuhost_only": ["pcie_maxreadreq"]}).succeeded()
    assert outcomes(run) == {
        f"pcie_maxreadreq:{address}": "changed" for address in GPUS if address not in (lost, passed)}
    assert f"pcie_maxreadreq:{lost}: skipped" in run.stdout
    assert f"pcie_maxreadreq:{passed}: skipped" in run.stdout
    # The same device named by the user is refused, and fails.
    named = controller.play("tune_runtime.yml", {"pve1": story}, variables={
        "gpuhost_only": ["kernel_release"], "gpuhost_values": {"pcie_maxreadreq": {passed: 4096}}}).failed()
    refused, = named.one("pve1", task="Audit after and report")["refused"]
    assert refused.startswith(f"pcie_maxreadreq:{passed}: refused: wanted 4096, found ")
    assert named.one("pve1", task="Fail on refused changes")["msg"] == refused
    assert "vfio-pci" in refused
    check = controller.play("tune_runtime.yml", {"pve1": story}, "--check", variables={
        "gpuhost_only": ["kernel_release"], "gpuhost_values": {"pcie_maxreadreq": {passed: 4096}}}).succeeded()
    assert outcomes(check) == {f"pcie_maxreadreq:{passed}": "refused"}


def test_a_device_that_is_worse_off_undoes_the_run(controller, story):
    """A stand-in for the hardware: when the last GPU has been written, the first one loses half of its lanes."""
    worse = next(iter(GPUS))
    done = threading.Event()

    def lose_lanes():
        while read_request_code(story, list(GPUS)[-1]) != 5 and not done.is_set():
            time.sleep(0.005)
        config = bytearray(story.path(f"{DEVICES}/{worse}/config").read_bytes())
        config[0x60 + 0x12:0x60 + 0x14] = (1 | 8 << 4).to_bytes(2, "little")    # Link Status: 2.5 GT/s x8
        story.file(f"{DEVICES}/{worse}/config", bytes(config))

    hardware = threading.Thread(target=lose_lanes)
    hardware.start()
    try:
        # Something is refused as well; the host fails for what matters more.
        run = controller.play("tune_runtime.yml", {"pve1": story}, variables={
            "gpuhost_values": {"sysctl": {"vm.no_such_key": 1}}}).failed()
    finally:
        done.set()
        hardware.join()
    assert run.one("pve1", task="Audit after and report")["refused"] == [
        "sysctl:vm.no_such_key: refused: wanted 1, found -: absent: ENOENT (No such file or directory)"]
    assert f"{worse}: its link had 16 lanes and has 8" in run.one("pve1", task="Fail on a device")["msg"]
    assert run.of("pve1", task="Fail on refused changes") == []
    assert [read_request_code(story, address) for address in GPUS] == [5] + [2] * 7
    for key, values in SYSCTLS.items():
        assert (key, sysctl(story, key)) == (key, values[BEFORE])
    report = (controller.reports / "pve1" / "system-improve.md").read_text()
    assert f"> {worse}: its link had 16 lanes and has 8. The run was rolled back." in report


@pytest.mark.one_core
def test_a_node_in_the_middle_of_something_is_left_alone(controller, story):
    plant_tasks(plant_cluster(story, quorate=False), "vzdump")
    story.file("/etc/pve/local/lxc/101.conf", story.path("/etc/pve/local/lxc/101.conf").read_text() + "\nlock: backup")
    untouched = fingerprint(story)
    # In check mode a refusal is a result, as it will be in the run.
    check = controller.play("tune_runtime.yml", {"pve1": story}, "--check").succeeded()
    assert "sysctl:kernel.numa_balancing: refused: wanted 0, found 1: the node is busy" in check.one(
        "pve1", task="Report the outcome of every change")["msg"]
    run = controller.play("tune_runtime.yml", {"pve1": story}).failed()
    message = run.one("pve1", task="Fail on refused changes")["msg"]
    assert message.splitlines()[:3] == ["the cluster has no quorum", "container 101 is locked: backup",
                                        "task vzdump of 101 of root@pam is running"]
    assert outcomes(run) == {}
    assert fingerprint(story) == untouched
    assert not story.path("/run/gpuhost").exists()


@pytest.mark.one_core
def test_a_container_is_told_to_use_its_host(controller, make_tree):
    run = controller.play("tune_runtime.yml", {"ct": container(make_tree("ct"))}).failed()
    assert "run this on the host" in run.one("ct", task="Audit before")["msg"]


@pytest.mark.one_core
def test_values_that_make_no_sense_stop_before_anything_is_touched(controller, story):
    untouched = fingerprint(story)
    run = controller.play("tune_runtime.yml", {"pve1": story}, variables={
        "gpuhost_values": {"pcie_maxreadreq": {"0000:41:00.0": 8192}}}).failed()
    assert "8192" in run.one("pve1", task="Audit before")["msg"]
    assert fingerprint(story) == untouched
