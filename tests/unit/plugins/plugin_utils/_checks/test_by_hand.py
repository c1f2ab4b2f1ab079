# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.by_hand import command, undo


@pytest.mark.parametrize("address, value, wanted", [
    ("sysctl:vm.swappiness", "10", "sysctl -w vm.swappiness=10"),
    ("sysctl:net.ipv4.tcp_rmem", "4096 131072 6291456", "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'"),
    ("sysctl:net.core.rmem_max", {"at_least": 16777216}, "sysctl -w net.core.rmem_max=16777216"),
    ("sysfs:/sys/kernel/mm/transparent_hugepage/enabled", "madvise",
     "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
    # The codes are those of the PCI Express specification: 010b is 512 bytes, 101b is 4096.
    ("pcie_maxreadreq:0000:41:00.0", 4096, "setpci -s 0000:41:00.0 CAP_EXP+8.w=5000:7000"),
    ("pcie_maxreadreq:0000:41:00.0", {"set": 512, "only_from": 4096}, "setpci -s 0000:41:00.0 CAP_EXP+8.w=2000:7000"),
    ("pcie_maxreadreq:0000:41:00.0", 128, "setpci -s 0000:41:00.0 CAP_EXP+8.w=0000:7000"),
    ("module:nvidia_peermem", "present", "modprobe nvidia_peermem"),
    ("module:nvidia_peermem", "absent", "rmmod nvidia_peermem"),
])
def test_commands_a_person_would_type(address, value, wanted):
    assert command(address, value) == wanted


def host(**sysctls):
    return {"sysctl": {f"vm.{name}": {"status": "ok", "value": value} for name, value in sysctls.items()}}


@pytest.mark.parametrize("address, facts, actual, wanted", [
    ("sysctl:vm.swappiness", host(swappiness="60"), None, "sysctl -w vm.swappiness=60"),
    ("sysctl:net.ipv4.tcp_rmem", {}, "4096\t131072\t6291456", "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'"),
    # A ratio of 0 means that the bytes are in force, and setting the ratio has set them to 0.
    ("sysctl:vm.dirty_ratio", host(dirty_ratio="0", dirty_bytes="1048576"), None, "sysctl -w vm.dirty_bytes=1048576"),
    ("sysctl:vm.dirty_ratio", host(dirty_ratio="20", dirty_bytes="0"), None, "sysctl -w vm.dirty_ratio=20"),
    ("sysctl:vm.dirty_ratio", host(dirty_ratio="0", dirty_bytes="0"), None, "sysctl -w vm.dirty_ratio=0"),
    ("sysctl:vm.dirty_ratio", host(dirty_ratio="0"), None, None),
    ("sysfs:/sys/a b", {}, "it's", "echo 'it'\"'\"'s' > '/sys/a b'"),
    ("pcie_maxreadreq:0000:41:00.0", {}, 256, "setpci -s 0000:41:00.0 CAP_EXP+8.w=1000:7000"),
    ("module:nvidia_peermem", {}, "absent", "rmmod nvidia_peermem"),
    ("sysctl:vm.swappiness", {}, None, None),
])
def test_the_way_back_has_the_value_that_was_read(address, facts, actual, wanted):
    assert undo(address, facts, actual) == wanted
