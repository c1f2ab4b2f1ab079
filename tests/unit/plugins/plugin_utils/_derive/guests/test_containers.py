# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.guests import containers as rules

import neutral_facts as neutral
from neutral_facts import merge

HOST = rules.of_host(neutral.epyc())        # nvidia-uvm has the major 509
NODES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm")


def rule(value, owners=()):
    kind, _blank, rest = value.partition(" ")
    numbers, _blank, access = rest.partition(" ")
    major, _colon, minor = numbers.partition(":")
    return {"key": "lxc.cgroup2.devices.allow", "value": value, "kind": kind, "access": access or "rwm",
            "major": int(major) if major.isdecimal() else None, "minor": int(minor) if minor.isdecimal() else None,
            "owners": list(owners)}


def container(*allow, paths=NODES, mounted=NODES, **changed):
    """Nodes in `mounted` come by a bind mount, the others by devN."""
    devices = [{"key": "lxc.mount.entry" if path in mounted else f"dev{number}", "path": path, "optional": False,
                "writable": True} for number, path in enumerate(paths)]
    return {**neutral.lxc("101", list(paths)), "devices": devices, "allow": list(allow), **changed}


OWN, UVM = rule("c 195:* rwm", ["nvidia"]), rule("c 509:* rwm", ["nvidia-uvm"])


@pytest.mark.parametrize("given, blocked", [
    (container(OWN, UVM), []),
    (container(OWN), ["/dev/nvidia-uvm"]),
    (container(), list(NODES)),
    (container(rule("c 195:0 rw"), rule("c 195:255 rw"), rule("c 509:0 rw")), []),
    (container(rule("c 195:1 rw"), rule("c 195:255 rw"), UVM), ["/dev/nvidia0"]),
    (container(OWN, rule("c 509:* r")), ["/dev/nvidia-uvm"]),
    (container(OWN, rule("b 509:* rwm")), ["/dev/nvidia-uvm"]),
    (container(rule("a *:* rwm")), []),
    (container(rule("a")), list(NODES)),        # taken back by a later deny: allows_everything says so
    (container(rule("a"), allows_everything=True), []),
    (container(mounted=()), []),
    (container(hook=True), []),
    (container(OWN, mounted=NODES[:2]), []),    # nvidia-uvm by devN
    (container(paths=NODES[:2], mounted=()), ["/dev/nvidia-uvm"]),
    (container(UVM, paths=NODES[:2], mounted=(), unprivileged=False), []),
    (container(OWN, UVM, paths=(*NODES, "/dev/ttyUSB0", "/dev/nvidia9")), []),
])
def test_nodes_that_may_not_be_opened(given, blocked):
    found = rules.judge_devices(given, HOST)
    assert [sentence.split()[0] for sentence in found["blocked"]] == blocked


@pytest.mark.parametrize("number, blocked", [
    ("c 509:0 rwm", []), ("c 508:0 rwm", ["/dev/nvidia-uvm is 509:0, not allowed by any rule",
                                          "/dev/nvidia-uvm-tools is 509:1, not allowed by any rule"])])
def test_a_node_that_cuda_does_not_need_is_told_along_but_not_alone(number, blocked):
    paths = (*NODES, "/dev/nvidia-uvm-tools")
    found = rules.judge_devices(container(OWN, rule(number), paths=paths, mounted=paths), HOST)
    assert found["blocked"] == blocked


def test_without_the_module_nobody_knows_the_major():
    facts = merge(neutral.epyc(), {"nvidia": {"majors": {"value": [{"name": "nvidia", "major": 195}]}}})
    assert rules.judge_devices(container(paths=NODES[:2], mounted=()), rules.of_host(facts))["blocked"] == []


@pytest.mark.parametrize("one, stale, foreign", [
    (rule("c 508:* rwm"), ["c 508:* rwm: no driver has the major 508"], False),
    (rule("c 240:* rwm", ["infiniband_verbs"]), ["c 240:* rwm: the major 240 is infiniband_verbs"], True),
    (rule("c 235:* rwm", ["nvidia-caps"]), [], False), (rule("c 226:* rwm"), [], False),
    (rule("c 10:200 rwm", ["misc"]), [], False), (rule("b 259:* rwm"), [], False), (UVM, [], False),
])
def test_rules_that_name_nobody_or_others(one, stale, foreign):
    found = rules.judge_devices(container(OWN, UVM, one), HOST)
    assert (found["stale"], found["foreign"]) == (stale, foreign)


@pytest.mark.parametrize("given, numbers", [
    (container(OWN, UVM), ["c 509:* rwm"]), (container(OWN, UVM, mounted=()), []),
    (container(OWN, rule("c 508:* rwm")), []),
    (container(OWN, UVM, rule("c 235:* rwm", ["nvidia-caps"])), ["c 509:* rwm"]),
])
def test_numbers_that_the_next_boot_moves(given, numbers):
    assert [sentence.partition(" is ")[0] for sentence in rules.reboot_risks(given, HOST, True)] == numbers


@pytest.mark.parametrize("given, line", [
    (container(mounted=()), None),
    (container(), "pct set 101 -dev0 /dev/nvidia0,mode=0666 -dev1 /dev/nvidia-uvm,mode=0666 "
                  "-dev2 /dev/nvidiactl,mode=0666"),
    # dev0 and dev1 are taken
    (container(mounted=NODES[2:]), "pct set 101 -dev2 /dev/nvidia-uvm,mode=0666"),
    (container(paths=("/dev/ttyUSB0", *NODES), mounted=NODES),
     "pct set 101 -dev1 /dev/nvidia0,mode=0666 -dev2 /dev/nvidia-uvm,mode=0666 -dev3 /dev/nvidiactl,mode=0666"),
])
def test_the_line_that_gives_the_same_by_devn(given, line):
    assert rules.judge_devices(given, HOST)["device_line"] == line
