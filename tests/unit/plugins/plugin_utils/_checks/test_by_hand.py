# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.by_hand import command


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
