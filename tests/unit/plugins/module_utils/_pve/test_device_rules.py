# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Held against device_cgroup_rule_parse() of lxc 6.0.5: what it takes, what it rejects, what it does not look at."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import device_rules as rules

ALLOW = "lxc.cgroup2.devices.allow"
MAJORS = [{"name": "nvidia", "major": 195}, {"name": "nvidia-uvm", "major": 509}, {"name": "nvidia-caps", "major": 400},
          {"name": "usb_device", "major": 189}]
NODES = {"/dev/nvidia0": {"type": "c", "major": 195, "minor": 0}}


def parse(value, key=ALLOW):
    return rules.at_path(rules.parse_rule(key, value), NODES)


@pytest.mark.parametrize(("value", "rule"), [
    ("c 195:* rwm", ("c", 195, None, "rwm")), ("c 511:0 r", ("c", 511, 0, "r")), ("c *:* m", ("c", None, None, "m")),
    ("a", ("a", None, None, "rwm")), ("a *:* rwm", ("a", None, None, "rwm")), ("b 8:0 wr", ("b", 8, 0, "wr")),
    ("c\t195:*\trwm", ("c", 195, None, "rwm")), ('"c 195:* rwm"', ("c", 195, None, "rwm")),
    ("c 0773:0 rwm", ("c", 507, 0, "rwm")),         # strtol() with base 0
    ("/dev/nvidia0 rw", ("c", 195, 0, "rw"))])
def test_what_lxc_reads(value, rule):
    found = parse(value)
    assert (found.kind, found.major, found.minor, found.access) == rule
    assert (found.value, found.error, found.ignored) == (value, None, None)


@pytest.mark.parametrize(("value", "why"), [
    ("c195:* rwm", "no space after c"), ("c  195:* rwm", "more than one space after c"),
    ("c 195:any rwm", "the minor 'any' is neither a number nor *"),
    ("c x:* rwm", "the major 'x' is neither a number nor *"),
    ("c 0xc3:* rwm", "the major '0xc3' is not a decimal number"), ("c 195 rwm", "the major '195 rwm' is not a decimal"),
    ("c 1fd:0 rwm", "the major '1fd' is not a decimal number"),
    ("c 195:* rw # GPUs", "the access 'rw # GPUs' has letters"),
    ("c 195:*", "no space and access letters (r, w, m) after the minor"), ("c 195:* rx", "the access 'rx' has letters"),
    ("c 0195:* rwm", "the major '0195' begins with 0 but is not an octal number"),
    ("c 99999999999:0 rwm", "the major '99999999999' is too large"), ("", "it does not begin with a, b or c"),
    ("rubbish", "it does not begin with a, b or c"), ("/dev/nvidia0", "no access letters (r, w, m) after the path"),
    ("/dev/nvidia9 rwm", "the host has no device node /dev/nvidia9")])
def test_what_lxc_rejects(value, why):
    found = parse(value)
    assert found.error.startswith(why)
    assert (found.kind, found.major, found.value) == (None, None, value)


def test_text_behind_three_letters_is_not_looked_at():
    found = parse("c 195:* rwm # all GPUs")
    assert (found.major, found.access, found.error, found.ignored) == (195, "rwm", None, "# all GPUs")


def test_a_path_is_a_rule_of_the_second_version_and_allows_only():
    assert parse("/dev/nvidia0 rw", "lxc.cgroup.devices.allow").error == "it does not begin with a, b or c"
    assert parse("/dev/nvidia0 rw", "lxc.cgroup2.devices.deny").error == "it does not begin with a, b or c"


@pytest.mark.parametrize(("value", "hint"), [
    ("c 0xc3:* rwm", "0xc3 read as hexadecimal is 195, the major of nvidia: LXC takes decimal numbers"),
    ("c c3:* rwm", "c3 read as hexadecimal is 195, the major of nvidia: LXC takes decimal numbers"),
    ("c 1fd:0 rwm", "1fd read as hexadecimal is 509, the major of nvidia-uvm: LXC takes decimal numbers"),
    ("c 190:0 rwm", "190 read as hexadecimal is 400, the major of nvidia-caps: LXC takes decimal numbers"),
    ("c 303:* rwm", "303 read as octal is 195, the major of nvidia: LXC takes decimal numbers"),
    ("c 0509:0 rwm", "0509 read as decimal is 509, the major of nvidia-uvm: LXC takes decimal numbers"),
    ("c 195:* rwm", None), ("c 189:* rwm", None), ("c 508:* rwm", None), ("c *:* rwm", None), ("a", None),
    ("c x:* rwm", None)])
def test_a_major_in_another_base_gets_a_hint(value, hint):
    assert rules.base_hint(parse(value), MAJORS) == hint


def test_rules_of_both_versions_and_no_other_key():
    settings = [(ALLOW, "c 1:3 rwm"), ("lxc.cgroup.devices.allow", "c 1:5 rwm"), ("lxc.cgroup2.devices.deny", "a"),
                ("lxc.cgroup2.cpuset.cpus", "0-3")]
    assert [rule.minor for rule in rules.parse_rules(settings)] == [3, 5]
    assert [rule.value for rule in rules.parse_rules(settings, "deny")] == ["a"]


@pytest.mark.parametrize(("lines", "everything"), [
    ([], False), (["allow a"], True), (["deny a", "allow c 195:* rwm"], False), (["allow a", "deny a"], False),
    (["deny a", "allow a"], True), (["allow a", "deny c 195:* rwm"], True), (["allow a *:* rwm"], False)])
def test_the_last_rule_for_all_devices_counts(lines, everything):
    settings = [tuple(f"lxc.cgroup2.devices.{line}".split(" ", 1)) for line in lines]
    assert rules.allows_everything(settings) is everything
