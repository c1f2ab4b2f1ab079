# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reboot into another kernel, told before it and after it: a container loses CUDA although nvidia-smi works in it."""
from __future__ import annotations

import json

import pytest

from hosts.story_after_reboot import story_after_reboot
from hosts.story_before import all_ones_on, story_before

LINE = ("pct set 101 -dev0 /dev/nvidia0,mode=0666 -dev1 /dev/nvidia1,mode=0666 -dev2 /dev/nvidia2,mode=0666 "
        "-dev3 /dev/nvidia3,mode=0666 -dev4 /dev/nvidia-uvm,mode=0666 -dev5 /dev/nvidiactl,mode=0666")
LOST = "lxc:101: /dev/nvidia-uvm is 511:0, not allowed by any rule; c 509:* rwm: no driver has the major 509"


@pytest.fixture
def before(make_tree):
    return story_before(make_tree("before"), cores=1)


@pytest.fixture
def after(make_tree):
    return story_after_reboot(make_tree("after"), cores=1)


def findings(controller, name="audit.json"):
    document = json.loads((controller.reports / "pve1" / name).read_text())
    return {(one["check"], one["subject"]): one for one in document["findings"]}


def test_the_reboot_is_told_before_and_after(controller, before, after):
    # Before: the one container that counts on a number is named, with the line that mends it.
    run = controller.play("audit.yml", {"pve1": before}, variables={"gpuhost_profile": "before_reboot"}).succeeded()
    assert "c 509:* rwm is nvidia-uvm only until the next boot" in run.stdout
    told = findings(controller)
    assert {pair for pair, finding in told.items() if finding["verdict"] == "fail"} == {
        ("lxc_survives_reboot", "lxc:101")}
    risk = told["lxc_survives_reboot", "lxc:101"]
    assert (risk["priority"], risk["fix"]["how"].startswith(LINE)) == ("P1", True)
    assert "Before=pve-guests.service" in risk["fix"]["how"]
    assert "numa_balancing" not in {check for check, _subject in told}
    # A pipeline can refuse to reboot.
    controller.play("audit.yml", {"pve1": before}, variables={
        "gpuhost_profile": "before_reboot", "gpuhost_fail_on": "P1"}).failed()

    # After: verify names what broke, how to mend it, and what only changed.
    run = controller.play("verify.yml", {"pve1": after}).failed()
    broken = run.one("pve1", task="Fail on what a reboot broke")["msg"]
    assert f"broken: {LOST} (lxc_gpu_access)" in broken
    assert LINE in broken
    assert "lxc:102" not in broken
    assert "pve1: rebooted since the audit of" in run.stdout
    for sentence in ("the kernel was 6.8.12-9-pve and is 6.14.11-4-pve",
                     "the frequency driver was acpi-cpufreq and is amd-pstate-epp",
                     "device node /dev/nvidia-uvm was 509:0 and is 511:0",
                     "character device nvidia-uvm 509 is gone"):
        assert sentence in run.stdout

    # An audit in the new boot does not forget the one before.
    controller.play("audit.yml", {"pve1": after}).succeeded()
    assert findings(controller)["lxc_gpu_access", "lxc:101"]["priority"] == "P0"
    assert ("lxc_survives_reboot", "lxc:101") in findings(controller, "audit-previous-boot.json")
    assert LOST in controller.play("verify.yml", {"pve1": after}).failed().one("pve1", task="a reboot broke")["msg"]


@pytest.mark.one_core
def test_mended_before_the_reboot_nothing_is_broken(controller, before, after):
    devices = LINE.split(" -dev")[1:]
    for tree in (before, after):
        config = tree.path("/etc/pve/nodes/pve1/lxc/101.conf").read_text().partition("lxc.cgroup2.devices")[0]
        tree.file("/etc/pve/nodes/pve1/lxc/101.conf", config + "".join(
            f"dev{number}: {path}\n" for number, _blank, path in (device.partition(" ") for device in devices)))
    controller.play("audit.yml", {"pve1": before}, variables={
        "gpuhost_profile": "before_reboot", "gpuhost_fail_on": "P2"}).succeeded()
    run = controller.play("verify.yml", {"pve1": after}).succeeded()
    assert "0 things broken" in run.stdout


@pytest.mark.one_core
def test_a_gpu_and_a_guest_that_did_not_come_back_are_named(controller, before, after):
    all_ones_on(after, "0000:81:00.0")
    after.file("/sys/fs/cgroup/lxc/102/cgroup.events", "populated 0")
    sockets = after.path("/proc/net/unix").read_text()
    after.file("/proc/net/unix", "\n".join(line for line in sockets.splitlines() if "/102/" not in line))
    controller.play("audit.yml", {"pve1": before}).succeeded()
    broken = controller.play("verify.yml", {"pve1": after}).failed().one("pve1", task="a reboot broke")["msg"]
    assert "broken: 0000:81:00.0: the device reads all ones" in broken
    assert "broken: lxc:102: it was running before the reboot and is not running now" in broken


@pytest.mark.one_core
def test_without_an_audit_of_the_boot_before_there_is_nothing_to_compare(controller, after):
    assert "rebooted since" not in controller.play("verify.yml", {"pve1": after}).succeeded().stdout
