# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci.address import (
    covers,
    find_address,
    kernel_address,
    parse_address,
    parse_hex_id,
    read_classes,
    upstream_path,
)

from hosts.pci import plant_bmc_display, plant_device, plant_gpu, plant_root_port, plant_switch


@pytest.mark.parametrize("text, parts", [
    ("0000:01:00.0", (0, 1, 0, 0)),
    ("00000000:F4:00.0", (0, 0xF4, 0, 0)),
    ("10000:e1:1f.7", (0x10000, 0xE1, 0x1F, 7)),
    ("d7ed0001:00:00.0", (0xD7ED0001, 0, 0, 0)),
    ("41:00.0", (None, 0x41, 0, 0)),
])
def test_case_A47_addresses_of_all_lengths(text, parts):
    assert parse_address(text) == parts


@pytest.mark.parametrize("text", ["", "nvidia0", "0000:01:00", "000:01:00.0", "000000000:01:00.0", "0000:01:20.0",
                                  "0000:01:00.8", "0000:01:00:0", "0000:01:00.0\n", "0000:01:00.0/../x", None])
def test_what_is_no_address(text):
    with pytest.raises(ValueError, match="is not a PCI address like"):
        parse_address(text)


@pytest.mark.parametrize("value", [2460.0, "2460.0", "2460", 4100])
def test_a_number_comes_with_the_hint_to_quote(value):
    with pytest.raises(ValueError, match="quote it in YAML"):
        parse_address(value)


@pytest.mark.parametrize("text, address", [
    ("00000000:F4:00.0", "0000:f4:00.0"), ("0000:f4:00.0", "0000:f4:00.0"), ("41:00", "0000:41:00"),
    ("41:0.1", "0000:41:00.1"), ("10000:E1:00.0", "10000:e1:00.0"), ("mapping=gpu", None), ("", None), ("0000", None),
])
def test_other_spellings(text, address):
    assert kernel_address(text) == address


def test_a_slot_covers_its_functions():
    assert covers("0000:41:00", "0000:41:00.0")
    assert covers("0000:41:00", "0000:41:00.1")
    assert covers("0000:41:00.0", "0000:41:00.0")
    assert not covers("0000:41:00.1", "0000:41:00.0")
    assert not covers("0000:41:0", "0000:41:00.0")


@pytest.fixture
def two_domains(tree):
    """0000:01:00.0 and 0001:01:00.0, 10000:01:00.0 with a long domain, and 0000:f4:00.0 alone."""
    for address in ("0000:01:00.0", "0001:01:00.0", "10000:02:00.0", "0000:f4:00.0"):
        plant_device(tree, address)


@pytest.mark.parametrize("text, address", [
    ("0000:01:00.0", "0000:01:00.0"), ("0001:01:00.0", "0001:01:00.0"), ("00000001:01:00.0", "0001:01:00.0"),
    ("00000000:F4:00.0", "0000:f4:00.0"), ("F4:00.0", "0000:f4:00.0"), ("02:00.0", "10000:02:00.0"),
    ("00010000:02:00.0", "10000:02:00.0"),
])
def test_case_A47_the_answer_is_the_kernels_own_string(two_domains, host, text, address):
    assert find_address(host, text) == address


def test_case_A47_two_domains_are_an_error_that_names_both(two_domains, host):
    with pytest.raises(ValueError, match=r"01:00.0 matches several devices.*0000:01:00.0, 0001:01:00.0"):
        find_address(host, "01:00.0")


def test_an_address_that_nobody_has(two_domains, host):
    with pytest.raises(LookupError, match=r"0000:99:00.0: this host has no such PCI device"):
        find_address(host, "0000:99:00.0")


def test_the_path_goes_from_the_nearest_port_to_the_root_port(tree, host):
    root = plant_root_port(tree, "0000:00:01.1")
    below = plant_switch(tree, "0000:01:00.0", ["0000:02:00.0", "0000:02:01.0"], parent=root)
    plant_gpu(tree, "0000:06:00.0", parent=below[1])
    assert upstream_path(host, "0000:06:00.0") == ["0000:02:01.0", "0000:01:00.0", "0000:00:01.1"]
    assert upstream_path(host, root) == []


def test_a_root_bus_below_a_device_starts_a_path_of_its_own(tree, host):
    tree.folder("/sys/devices/pci0000:00/0000:00:0e.0/pci10000:00/10000:00:01.0/10000:01:00.0")
    tree.link("/sys/bus/pci/devices/10000:01:00.0", "../../../devices/pci0000:00/0000:00:0e.0/pci10000:00/10000:00:01.0"
              "/10000:01:00.0")
    assert upstream_path(host, "10000:01:00.0") == ["10000:00:01.0"]


def test_a_missing_device_and_a_link_that_leads_out_have_no_path(tree, host):
    tree.link("/sys/bus/pci/devices/0000:01:00.0", "../../../../../../etc")
    assert upstream_path(host, "0000:01:00.0") == []
    assert upstream_path(host, "0000:02:00.0") == []


def test_classes_of_all_devices(tree, host):
    plant_root_port(tree, "0000:00:01.1")
    plant_bmc_display(tree, "0000:52:00.0")
    tree.file("/sys/bus/pci/devices/0000:60:00.0/class", "display")
    assert read_classes(host) == {"0000:00:01.1": "060400", "0000:52:00.0": "030000"}


def test_a_host_without_pci(host):
    assert read_classes(host) == {}


@pytest.mark.parametrize("text, digits, identifier", [
    ("0x10de", 4, "10de"), ("0x0A", 2, "0a"), ("0x030200", 6, "030200"),
])
def test_identifiers(text, digits, identifier):
    assert parse_hex_id(text, digits) == identifier


@pytest.mark.parametrize("text", ["", "nvidia", "0x12345", "-0x1", "-1de"])
def test_what_is_no_identifier(text):
    with pytest.raises(ValueError):
        parse_hex_id(text, 4)
