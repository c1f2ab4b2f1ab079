# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.modprobe import modprobe

from neutral_facts import ABSENT, ok

FILE, TIME = "/etc/modprobe.d/gpu.conf", "2026-11-10T08:00:00Z"
INITRAMFS = "/boot/initrd.img-6.8.12-9-pve"


def line(keyword, module, text="", time=TIME):
    return {"path": FILE, "modified": time, "keyword": keyword, "module": module, "text": text}


def derived(*lines, parameters=(), initramfs=None, nouveau="absent", modules=(), cmdline=()):
    return modprobe({
        "kernel": {"parameters": [{"name": name, "value": text} for name, text in cmdline]},
        "nvidia": {
            "modprobe": ok(list(lines)), "parameters": ok([{"name": name, "value": text} for name, text in parameters]),
            "initramfs": ok({"path": INITRAMFS, "modified": initramfs}) if initramfs else ABSENT,
            "modules": [{"name": "nouveau", "state": nouveau}],
            "module_parameters": [{"module": module, "name": name, "value": ok(text)}
                                  for module, name, text in modules],
        }})


@pytest.mark.parametrize("wanted, runs", [
    ("1", "1"), ("0x02", "2"), ("0666", "438"), ("-1", "4294967295"), ('"A=1;B=2"', "A=1;B=2"), ("0X1b6", "438"),
    ("0", "0"), ('""', "")])
def test_equal_values_in_other_notations(wanted, runs):
    found = derived(line("options", "nvidia", f"NVreg_Some={wanted}"), parameters=[("Some", runs)])
    assert (found["options"], found["not_live"]) == (1, [])


@pytest.mark.parametrize("wanted, runs", [("1", "0"), ("0666", "666"), ('"A=1"', ""), ("0x10", "10"), ("08", "8")])
def test_other_values_are_told_with_file_and_time(wanted, runs):
    found = derived(line("options", "nvidia", f"NVreg_Some={wanted}"), parameters=[("Some", runs)])
    assert found["not_live"] == [f"nvidia runs with NVreg_Some={runs or 'nothing'}, {FILE} ({TIME}) says {wanted}"]


@pytest.mark.parametrize("initramfs, message", [
    ("2026-11-01T06:00:00Z", f": {INITRAMFS} (2026-11-01T06:00:00Z) is older and does not include it"),
    ("2026-11-12T06:00:00Z", f": {INITRAMFS} (2026-11-12T06:00:00Z) is newer, so a reboot is pending, or something "
                             "loads it by name")])
def test_the_age_of_the_initramfs_says_why(initramfs, message):
    found = derived(line("options", "nvidia", "NVreg_Some=1"), parameters=[("Some", "0")], initramfs=initramfs)
    assert found["not_live"] == [f"nvidia runs with NVreg_Some=0, {FILE} ({TIME}) says 1{message}"]
    assert derived(line("blacklist", "nouveau"), nouveau="live", initramfs=initramfs)["barred"] == [
        f"nouveau is loaded although {FILE} ({TIME}) blocks it{message}"]


def test_the_last_of_two_counts_and_the_command_line_comes_last():
    lines = line("options", "nvidia", "NVreg_Some=1"), line("options", "nvidia", "NVreg_Some=2 NVreg_Other=5")
    assert derived(*lines, parameters=[("Some", "2"), ("Other", "5")])["not_live"] == []
    found = derived(*lines, parameters=[("Some", "2")], cmdline=[("nvidia.NVreg_Some", "3"), ("quiet", None)])
    assert found["not_live"] == ["nvidia runs with NVreg_Some=2, the kernel command line says 3"]


def test_names_that_the_driver_prints_otherwise_or_not_at_all():
    profiling = line("options", "nvidia", "NVreg_RestrictProfilingToAdminUsers=0")
    assert len(derived(profiling, parameters=[("RmProfilingAdminOnly", "1")])["not_live"]) == 1
    assert derived(profiling, parameters=[("RmProfilingAdminOnly", "0")])["not_live"] == []
    unknown = line("options", "nvidia", "NVreg_Gone=1 modeset=1")
    assert derived(unknown, parameters=[("modeset", "0")])["not_live"] == []


@pytest.mark.parametrize("wanted, runs, differs", [("1", "Y", False), ("0", "N", False), ("y", "Y", False),
                                                   ("1", "N", True), ("2", "Y", True)])
def test_parameters_of_other_modules_come_from_sysfs(wanted, runs, differs):
    found = derived(line("options", "nvidia_uvm", f"uvm_disable_hmm={wanted}"),
                    modules=[("nvidia_uvm", "uvm_disable_hmm", runs)])
    assert bool(found["not_live"]) is differs
    assert derived(line("options", "nvidia_uvm", "uvm_disable_hmm=1"))["not_live"] == []      # not loaded


@pytest.mark.parametrize("message, is_barred", [
    (line("blacklist", "nouveau"), True), (line("install", "nouveau", "/bin/false"), True),
    (line("install", "nouveau", "/usr/bin/true"), True),
    (line("install", "nouveau", "/sbin/modprobe -i nouveau"), False),
    (line("options", "nouveau", "modeset=0"), False)])
def test_what_bars_a_module(message, is_barred):
    assert bool(derived(message, nouveau="live")["barred"]) is is_barred
    assert derived(message, nouveau="absent")["barred"] == []


def test_barred_on_the_command_line():
    found = derived(cmdline=[("modprobe.blacklist", "nouveau,nvidia-drm")], nouveau="live")
    assert found["barred"] == ["nouveau is loaded although the kernel command line blocks it"]
    assert found["barred_modules"] == ["nouveau", "nvidia_drm"]


def test_nvidia_itself_is_barred():
    assert derived(line("blacklist", "nvidia"))["nvidia_barred"] == f"{FILE} ({TIME}) blocks it."
    assert derived(line("blacklist", "nouveau"))["nvidia_barred"] is None


def test_keys_of_the_registry_that_do_nothing_or_too_much():
    """As in a public report: two of the keys are parameters of the module."""
    text = "ForceP2P=0x11;RMForceP2PType=1;RMPcieP2PType=2;GrdmaPciTopoCheckOverride=1;EnableResizableBar=1"
    found = derived(parameters=[("EnableResizableBar", "1"), ("GrdmaPciTopoCheckOverride", "1"),
                                ("RegistryDwords", text)])["registry"]
    assert [message.partition(" ")[0] for message in found] == [
        "GrdmaPciTopoCheckOverride", "EnableResizableBar", "ForceP2P=0x11", "RMForceP2PType=1", "RMPcieP2PType=2"]
    assert derived(parameters=[("RegistryDwords", "RMSomething=1; ;")])["registry"] == []
    assert derived(parameters=[("RegistryDwords", "")])["registry"] == []
