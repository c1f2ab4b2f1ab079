# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import as_facts, from_error
from ansible_collections.gpuhost.tuning.plugins.module_utils._system.network import parse_softnet, read

from facts_schema import problems
from hosts.network import NET, plant_card, plant_softnet, plant_software


def test_cards_are_told_from_what_software_makes(tree, host):
    plant_card(tree, "eno1", "0000:e2:00.0", driver="igb", speed=1000, mtu=9000, numa_node=1)
    plant_software(tree, "lo", "vmbr0", "tap100i0")
    card, = read(host)["interfaces"]
    assert as_facts(card) == {
        "name": "eno1", "bdf": "0000:e2:00.0", "driver": "igb", "operstate": {"status": "ok", "value": "up"},
        "carrier": {"status": "ok", "value": 1}, "speed_mbps": {"status": "ok", "value": 1000},
        "duplex": {"status": "ok", "value": "full"}, "mtu": {"status": "ok", "value": 9000},
        "numa_node": {"status": "ok", "value": 1}}


def test_a_virtio_card_is_found_by_the_function_above_it(tree, host):
    folder = "/sys/devices/pci0000:00/0000:00:1e.0/0000:05:03.0/virtio2/net/eth0"
    tree.files(folder, {"operstate": "up", "carrier": 1, "speed": -1, "duplex": "unknown", "mtu": 1500})
    tree.link(f"{NET}/eth0", f"../..{folder.removeprefix('/sys')}")
    card, = read(host)["interfaces"]
    assert (card["bdf"], card["driver"], card["speed_mbps"].value) == ("0000:05:03.0", None, -1)


@pytest.mark.parametrize("link", ["platform/soc/eth/net/x0", "pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/net/x0"])
def test_a_card_without_a_pci_function_of_its_own(tree, host, link):
    tree.link(f"{NET}/x0", f"../../devices/{link}")
    assert read(host)["interfaces"][0]["bdf"] is None


class InterfaceDown(Host):
    """The kernel answers EINVAL for these of an interface that is down (net/core/net-sysfs.c)."""

    def _read_attribute(self, folder, here, name):
        if name in ("carrier", "speed", "duplex"):
            return from_error(OSError(errno.EINVAL, "Invalid argument"))
        return super()._read_attribute(folder, here, name)


def test_a_card_that_is_down_has_neither_speed_nor_carrier(tree):
    plant_card(tree, "eno1", "0000:e2:00.0")
    facts = as_facts(read(InterfaceDown(str(tree.root))))
    assert {facts["interfaces"][0][key]["status"] for key in ("carrier", "speed_mbps", "duplex")} == {"unparsable"}
    assert facts["interfaces"][0]["mtu"]["value"] == 1500
    assert problems("network", facts) == []


def test_counters_of_all_cpus_are_added_up(tree, host):
    plant_softnet(tree, (0x1000, 0x10, 0), (2, 0xffffffff, 7))
    assert read(host)["backlog"].value == {"received": 4098, "dropped": 4294967311, "squeezed": 7}


@pytest.mark.parametrize("text", ["", "\n", "00001000 00000010\n", "cpu dropped squeezed\n"])
def test_other_text_is_no_count(text):
    with pytest.raises(ValueError):
        parse_softnet(text)


def test_host_that_shows_no_network(host):
    facts = read(host)
    assert (facts["interfaces"], facts["backlog"].status) == ([], "absent")


def test_this_machine_is_valid():
    assert problems("network", as_facts(read(Host()))) == []
