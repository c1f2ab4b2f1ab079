# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci.capabilities import (
    find_extended_capability,
    find_pcie_capability,
    is_gone,
    read_u16,
    read_u32,
    walk_capabilities,
    walk_extended_capabilities,
)
from hypothesis import given
from hypothesis import strategies as st

from hosts.config_space import ConfigSpace, all_ones

CONFIG_SPACES = st.one_of(
    st.binary(max_size=300),
    st.binary(min_size=4096, max_size=4096),
    # Headers that claim a list, with any links after them: loops, links into the header, links past the end.
    st.binary(min_size=256, max_size=256).map(lambda body: body[:6] + b"\x10\x00" + body[8:]),
    st.binary(min_size=3840, max_size=3840).map(lambda body: ConfigSpace(size=256).bytes() + body),
)


def walk_extended(config):
    return list(walk_extended_capabilities(lambda offset: read_u32(config, offset)))


@pytest.mark.parametrize("offset", [0x40, 0x58, 0x60, 0x68, 0x70, 0x78, 0x80, 0xC0])
def test_case_A39_the_express_capability_is_where_the_list_says(offset):
    assert find_pcie_capability(ConfigSpace().express(offset).bytes()) == offset


def test_case_A39_at_0x68_lies_msi_where_express_is_at_0x78():
    config = ConfigSpace(device=0x2684).power_management(0x60).msi(0x68).express(0x78).bytes()
    assert list(walk_capabilities(config)) == [(0x01, 0x60), (0x05, 0x68), (0x10, 0x78)]
    assert find_pcie_capability(config) == 0x78


def test_case_A54_a_null_capability_is_passed_over():
    config = ConfigSpace(device=0x20B0).power_management(0x60).null_capability(0x68).express(0x78).bytes()
    assert list(walk_capabilities(config)) == [(0x01, 0x60), (0x10, 0x78)]


def test_case_A54_a_list_that_meets_itself_ends():
    space = ConfigSpace().power_management(0x40).msi(0x48)
    space.put(0x49, 0x40, 1)
    assert list(walk_capabilities(space.bytes())) == [(0x01, 0x40), (0x05, 0x48)]


@pytest.mark.parametrize("link", [0x00, 0x04, 0x34, 0x3C])
def test_case_A54_a_link_into_the_header_ends_the_list(link):
    space = ConfigSpace().power_management(0x40)
    space.put(0x41, link, 1)
    assert list(walk_capabilities(space.bytes())) == [(0x01, 0x40)]


def test_the_two_lowest_bits_of_a_link_are_reserved():
    space = ConfigSpace().express(0x60)
    space.put(0x34, 0x63, 1)
    assert find_pcie_capability(space.bytes()) == 0x60


def test_without_the_status_bit_there_is_no_list():
    space = ConfigSpace().express(0x60)
    space.put(0x06, 0x0000, 2)
    assert find_pcie_capability(space.bytes()) is None


def test_an_id_of_all_ones_ends_the_list():
    space = ConfigSpace().power_management(0x40).capability(0xFF, 0x50).express(0x60)
    assert list(walk_capabilities(space.bytes())) == [(0x01, 0x40)]


def test_a_cardbus_bridge_keeps_its_list_elsewhere():
    space = ConfigSpace(class_=0x060700, header=2)
    space.put(0x06, 0x0010, 2).put(0x14, 0xA0, 1).put(0xA0, 0x01, 1)
    assert list(walk_capabilities(space.bytes())) == [(0x01, 0xA0)]


def test_a_first_link_to_the_last_word_is_followed_to_the_end_of_the_bytes():
    space = ConfigSpace(size=256).capability(0x01, 0xFC)
    assert list(walk_capabilities(space.bytes())) == [(0x01, 0xFC)]


def test_64_bytes_hold_a_link_and_no_capability():
    assert find_pcie_capability(ConfigSpace().express(0x60).bytes(64)) is None


def test_case_A55_a_device_that_fell_off_has_no_capabilities():
    assert is_gone(all_ones())
    assert list(walk_capabilities(all_ones())) == []
    assert walk_extended(all_ones()) == []
    assert not is_gone(ConfigSpace().bytes())
    assert not is_gone(b"")


def test_extended_capabilities_in_the_order_of_the_list():
    config = ConfigSpace().extended(0x0019).aer(0x1B8).acs(offset=0x180).bytes()
    assert walk_extended(config) == [(0x19, 0x100), (0x01, 0x1B8), (0x0D, 0x180)]
    assert find_extended_capability(config, 0x0D) == 0x180
    assert find_extended_capability(config, 0x15) is None


def test_256_bytes_have_no_extended_capability():
    assert walk_extended(ConfigSpace(size=256).express().bytes()) == []


def test_an_extended_list_that_meets_itself_ends():
    space = ConfigSpace().aer().acs()
    space.put(0x148, 0x0D | 1 << 16 | 0x100 << 20, 4)
    assert walk_extended(space.bytes()) == [(0x01, 0x100), (0x0D, 0x148)]


def test_an_extended_link_below_0x100_ends_the_list():
    space = ConfigSpace()
    space.put(0x100, 0x01 | 1 << 16 | 0x060 << 20, 4)
    assert walk_extended(space.bytes()) == [(0x01, 0x100)]


def test_numbers_stop_where_the_bytes_do():
    assert read_u16(b"\x34\x12", 0) == 0x1234
    assert read_u32(b"\x78\x56\x34\x12", 0) == 0x12345678
    assert read_u16(b"\x34\x12", 1) is None
    assert read_u32(b"\x34\x12", 0) is None


@given(CONFIG_SPACES)
def test_any_bytes_end_within_the_space(config):
    offsets = [offset for _number, offset in walk_capabilities(config)]
    assert len(offsets) == len(set(offsets)) <= 48
    assert all(0x40 <= offset < min(len(config), 256) and offset % 4 == 0 for offset in offsets)
    extended = [offset for _number, offset in walk_extended(config)]
    assert len(extended) == len(set(extended)) <= 960
    assert all(0x100 <= offset <= len(config) - 4 for offset in extended)
