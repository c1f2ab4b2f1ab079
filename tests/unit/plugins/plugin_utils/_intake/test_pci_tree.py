# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of lspci -t, drawn by hand after its lspci.c, and those of bridges' registers."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.lspci import parse_devices
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.pci_tree import (
    contradictions,
    parse_tree,
    path_of,
    tree_of_registers,
)

from bug_report import hexdump, port_config

SWITCH = """\
-+-[0000:40]-+-00.0
 |           +-01.1-[41-45]----00.0-[42-45]--+-00.0-[43]----00.0
 |           |                               +-08.0-[44]--+-00.0
 |           |                               |            \\-00.1
 |           |                               \\-10.0-[45]--
 |           \\-03.0
 \\-[0000:00]-+-00.0
             \\-1f.7
"""


def test_a_switch_with_a_gpu_of_two_functions():
    parents = parse_tree(SWITCH.splitlines())
    assert parents == {
        "0000:40:00.0": None, "0000:40:01.1": None, "0000:41:00.0": "0000:40:01.1", "0000:42:00.0": "0000:41:00.0",
        "0000:43:00.0": "0000:42:00.0", "0000:42:08.0": "0000:41:00.0", "0000:44:00.0": "0000:42:08.0",
        "0000:44:00.1": "0000:42:08.0", "0000:42:10.0": "0000:41:00.0", "0000:40:03.0": None,
        "0000:00:00.0": None, "0000:00:1f.7": None}
    assert path_of("0000:44:00.1", parents) == (
        "/sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0/0000:42:08.0/0000:44:00.1")


def test_names_of_devices_are_no_tree():
    lines = ["-[0000:00]-+-00.0  Maker [1234:5678]",
             "           +-01.0-[01]----00.0  NVIDIA Corporation [a-b] 02.0-[03]----00.0 [10de:2684]",
             "           \\-02.0  Other +-05.0"]
    assert parse_tree(lines) == {"0000:00:00.0": None, "0000:00:01.0": None, "0000:01:00.0": "0000:00:01.0",
                                 "0000:00:02.0": None}


def test_domains():
    lines = ["-+-[10000:e0]-+-00.0-[e1]----00.0", " \\-[0000:00]---00.0"]
    assert parse_tree(lines) == {"10000:e0:00.0": None, "10000:e1:00.0": "10000:e0:00.0", "0000:00:00.0": None}


def listing(dumped):
    head = "0000:00:01.0 PCI bridge [0604]: Maker Port [8086:460d]\n"
    rest = ("0000:00:02.0 PCI bridge [0604]: Maker Port [8086:460d]\n"
            "0000:01:00.0 VGA compatible controller [0300]: NVIDIA Corporation X [10de:2684]\n"
            "0000:05:00.0 Ethernet controller [0200]: Maker Card [1234:5678]\n")
    return parse_devices((head + (hexdump(port_config(256)) if dumped else "") + rest).splitlines())


def test_bus_numbers_of_the_bridges_that_were_dumped():
    """Bridge 00:02.0 was not: what lies behind it is not known, unlike what is on bus 0, which no bridge is above."""
    assert tree_of_registers(listing(dumped=True)) == {
        "0000:00:01.0": None, "0000:00:02.0": None, "0000:01:00.0": "0000:00:01.0"}
    assert tree_of_registers(listing(dumped=False)) == {"0000:00:01.0": None, "0000:00:02.0": None}


def test_two_trees_are_held_against_each_other():
    drawn = parse_tree(["-[0000:00]-+-01.0", "           \\-02.0-[01]----00.0"])
    assert contradictions(drawn, tree_of_registers(listing(dumped=True))) == ["0000:01:00.0"]


@pytest.mark.parametrize("lines", [["]]]]["], ["-[0000:00]-" + "+-" * 5000], ["|" * 100_000], ["01.0-[01]-" * 3000]])
def test_nonsense_ends(lines):
    parse_tree(lines)


def test_a_circle_of_bridges_ends():
    parents = {"0000:01:00.0": "0000:02:00.0", "0000:02:00.0": "0000:01:00.0"}
    assert path_of("0000:01:00.0", parents).count("/") < 45
