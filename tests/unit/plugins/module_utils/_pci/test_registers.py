# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci.registers import (
    code_of_size,
    max_read_request,
    parse_acs,
    parse_express,
    parse_link_status,
    parse_resizable_bars,
    size_of_code,
    with_max_read_request,
)
from hypothesis import given
from hypothesis import strategies as st

from hosts.config_space import (
    ConfigSpace,
    all_ones,
    gpu_space,
    root_port_space,
    switch_port_space,
)

SIZES = [128, 256, 512, 1024, 2048, 4096]
SPEEDS = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0]


def test_a_gpu_at_idle():
    assert parse_express(gpu_space().bytes()) == {
        "capability": 0x60, "type": "legacy_endpoint", "max_payload": 256, "max_payload_supported": 256,
        "max_read_request": 512, "relaxed_ordering": True, "no_snoop": True, "extended_tags": True,
        "extended_tags_supported": True, "ten_bit_tags": True, "ten_bit_tags_supported": True,
        "completion_timeout": "50us-50ms", "completion_timeout_disabled": False, "device_control": 0x2937,
        "link": {"speed_gts": 2.5, "width": 16, "max_speed_gts": 32.0, "max_width": 16, "target_speed_gts": 32.0,
                 "autonomous_speed_disabled": False, "aspm": "disabled"},
    }


def test_a_port_of_a_switch():
    port = parse_express(switch_port_space(width=8, max_width=8).bytes())
    assert (port["capability"], port["type"], port["max_payload_supported"]) == (0x68, "downstream_port", 2048)
    assert (port["max_payload"], port["max_read_request"]) == (256, 128)
    assert (port["extended_tags"], port["extended_tags_supported"]) == (False, False)
    assert (port["link"]["speed_gts"], port["link"]["width"]) == (32.0, 8)


@pytest.mark.parametrize("code, name", [
    (0, "endpoint"), (1, "legacy_endpoint"), (4, "root_port"), (5, "upstream_port"), (6, "downstream_port"),
    (7, "pcie_pci_bridge"), (8, "pci_pcie_bridge"), (9, "integrated_endpoint"), (10, "event_collector"), (3, "unknown"),
])
def test_port_types(code, name):
    assert parse_express(ConfigSpace().express(port_type=code).bytes())["type"] == name


@pytest.mark.parametrize("code", [9, 10, 2, 15])
def test_what_belongs_to_the_root_complex_has_no_link(code):
    assert parse_express(ConfigSpace().express(port_type=code).bytes())["link"] is None


def test_a_link_that_is_down():
    link = parse_express(root_port_space(speed=None, width=0).bytes())["link"]
    assert (link["speed_gts"], link["width"], link["max_speed_gts"]) == (None, 0, 32.0)


def test_a_speed_without_a_name_is_unknown():
    space = gpu_space()
    space.put(0x60 + 0x12, 0x000F | 16 << 4, 2)
    assert parse_express(space.bytes())["link"]["speed_gts"] is None


def test_case_A48_supported_and_set_payload_are_two_values():
    express = parse_express(gpu_space(max_payload=128, max_payload_supported=512, max_read_request=4096).bytes())
    assert (express["max_payload_supported"], express["max_payload"], express["max_read_request"]) == (512, 128, 4096)
    assert (express["link"]["speed_gts"], express["link"]["max_speed_gts"]) == (2.5, 32.0)
    assert parse_express(gpu_space(speed=64.0).bytes())["link"]["speed_gts"] == 64.0


def test_case_A52_a_speed_that_is_held_down_is_visible():
    link = parse_express(gpu_space(speed=5.0, target_speed=5.0, autonomous_speed_disabled=True).bytes())["link"]
    assert (link["autonomous_speed_disabled"], link["target_speed_gts"], link["max_speed_gts"]) == (True, 5.0, 32.0)


@pytest.mark.parametrize("bits, name", list(enumerate(["disabled", "l0s", "l1", "l0s_l1"])))
def test_aspm(bits, name):
    assert parse_express(gpu_space(aspm=bits).bytes())["link"]["aspm"] == name


@pytest.mark.parametrize("code, timeout", [
    (0x0, "50us-50ms"), (0x1, "50us-100us"), (0x2, "1ms-10ms"), (0x5, "16ms-55ms"), (0x6, "65ms-210ms"),
    (0x9, "260ms-900ms"), (0xA, "1s-3.5s"), (0xD, "4s-13s"), (0xE, "17s-64s"), (0x3, None), (0xF, None)])
def test_completion_timeout(code, timeout):
    express = parse_express(gpu_space(completion_timeout=code).bytes())
    assert (express["completion_timeout"], express["completion_timeout_disabled"]) == (timeout, False)


@pytest.mark.parametrize("status, speed, width", [
    (0x1101, 2.5, 16), (0x0105, 32.0, 16), (0x0084, 16.0, 8), (0x0000, None, 0), (0x0017, None, 1)])
def test_link_status(status, speed, width):
    assert parse_link_status(status) == (speed, width)


def test_version_1_has_no_second_set_of_registers():
    space = ConfigSpace().express(version=1)
    space.put(0x60 + 0x24, 0xFFFFFFFF, 4).put(0x60 + 0x28, 0xFFFF, 2).put(0x60 + 0x30, 0xFFFF, 2)
    express = parse_express(space.bytes())
    assert express["completion_timeout"] is None
    assert [express[name] for name in ("ten_bit_tags", "ten_bit_tags_supported", "completion_timeout_disabled")] == [
        None, None, None]
    assert (express["link"]["target_speed_gts"], express["link"]["autonomous_speed_disabled"]) == (None, None)


@pytest.mark.parametrize("code", [6, 7])
def test_reserved_codes_have_no_size(code):
    express = parse_express(gpu_space().max_read_request_code(code).bytes())
    assert express["max_read_request"] is None
    assert express["max_payload"] == 256


def test_without_the_capability_it_says_so():
    with pytest.raises(ValueError, match="no PCI Express capability"):
        parse_express(ConfigSpace(size=256).power_management().bytes())


def test_a_capability_that_is_cut_off():
    with pytest.raises(ValueError, match="0xfc is cut off"):
        parse_express(ConfigSpace(size=256).capability(0x10, 0xFC).bytes())


def test_a_capability_does_not_reach_into_the_extended_space():
    express = parse_express(ConfigSpace().express(0xE0).bytes())
    assert (express["max_read_request"], express["ten_bit_tags"], express["link"]["width"]) == (512, None, 16)


def test_case_A55_all_ones_are_no_value():
    with pytest.raises(ValueError):
        parse_express(all_ones())


@pytest.mark.parametrize("code, size", list(enumerate(SIZES)))
def test_codes_and_sizes(code, size):
    assert (size_of_code(code), code_of_size(size)) == (size, code)


@pytest.mark.parametrize("size", [0, 64, 384, 8192, 16384, -128])
def test_sizes_without_a_code(size):
    with pytest.raises(ValueError, match=str(size)):
        code_of_size(size)


@pytest.mark.parametrize("before, size, after", [
    (0x2937, 4096, 0x5937), (0x2937, 128, 0x0937), (0x2937, 512, 0x2937), (0x0000, 4096, 0x5000), (0xFFFF, 128, 0x0FFF),
])
def test_case_A40_only_the_field_of_max_read_request_changes(before, size, after):
    assert with_max_read_request(before, size) == after


@given(st.integers(0, 0xFFFF), st.sampled_from(SIZES))
def test_a_new_word_keeps_its_neighbours_and_never_resets(before, size):
    after = with_max_read_request(before, size)
    assert after & 0x0FFF == before & 0x0FFF
    assert not after & 0x8000
    assert max_read_request(after) == size


def test_case_A61_redirect_in_the_acs_control_register():
    assert parse_acs(root_port_space(acs=0x001D).bytes()) == {
        "source_validation": True, "translation_blocking": False, "request_redirect": True,
        "completion_redirect": True, "upstream_forwarding": True, "egress_control": False, "direct_translated": False}


def test_case_A62_source_validation_is_no_redirect():
    acs = parse_acs(root_port_space(acs=0x0011).bytes())
    assert [name for name, set_ in acs.items() if set_] == ["source_validation", "upstream_forwarding"]


@pytest.mark.parametrize("bit, name", [
    (0, "source_validation"), (1, "translation_blocking"), (2, "request_redirect"), (3, "completion_redirect"),
    (4, "upstream_forwarding"), (5, "egress_control"), (6, "direct_translated"),
])
def test_each_acs_bit(bit, name):
    assert [key for key, set_ in parse_acs(root_port_space(acs=1 << bit).bytes()).items() if set_] == [name]


def test_no_acs():
    assert parse_acs(root_port_space(acs=None).bytes()) is None
    assert parse_acs(ConfigSpace(size=256).express().bytes()) is None


def test_resizable_bars():
    space = ConfigSpace().aer().resizable_bars((2, 131072, (64, 256, 131072)), (4, 32, (32,)))
    assert parse_resizable_bars(space.bytes()) == [
        {"bar": 2, "size": 137438953472, "sizes": [67108864, 268435456, 137438953472]},
        {"bar": 4, "size": 33554432, "sizes": [33554432]}]


def test_no_resizable_bar():
    assert parse_resizable_bars(ConfigSpace().aer().bytes()) == []


def test_resizable_bars_that_are_cut_off_or_too_many():
    space = ConfigSpace().extended(0x15, (0x10).to_bytes(4, "little") + (7 << 5).to_bytes(4, "little"))
    assert len(parse_resizable_bars(space.bytes())) == 6
    assert len(parse_resizable_bars(space.bytes(0x100 + 12))) == 1
    assert parse_resizable_bars(space.bytes(0x104)) == []


@given(max_payload=st.sampled_from(SIZES), supported=st.sampled_from(SIZES), request=st.sampled_from(SIZES),
       offset=st.sampled_from([0x40, 0x60, 0x68, 0x78, 0x80]), speed=st.sampled_from(SPEEDS),
       width=st.sampled_from([1, 2, 4, 8, 12, 16, 32]), flags=st.lists(st.booleans(), min_size=5, max_size=5))
def test_what_is_composed_is_decoded(max_payload, supported, request, offset, speed, width, flags):
    ordering, snoop, tags, ten_bit, timeout = flags
    express = parse_express(ConfigSpace().express(
        offset, max_payload=max_payload, max_payload_supported=supported, max_read_request=request, speed=speed,
        width=width, relaxed_ordering=ordering, no_snoop=snoop, extended_tags=tags, ten_bit_tags=ten_bit,
        completion_timeout_disabled=timeout).bytes())
    assert (express["capability"], express["max_payload"], express["max_payload_supported"],
            express["max_read_request"]) == (offset, max_payload, supported, request)
    assert (express["link"]["speed_gts"], express["link"]["width"]) == (speed, width)
    assert [express[name] for name in ("relaxed_ordering", "no_snoop", "extended_tags", "ten_bit_tags",
                                       "completion_timeout_disabled")] == flags


@given(st.one_of(
    st.binary(max_size=4200),
    st.builds(lambda body, length: (gpu_space(acs=0).bytes(0x60) + body)[:length],
              st.binary(min_size=4096, max_size=4096), st.integers(0, 4096)),
    st.builds(lambda body: gpu_space().bytes(0x62) + body[0x62:0x100] + b"\x15\x00\x01\x00" + body[0x104:],
              st.binary(min_size=4096, max_size=4096))))
def test_any_bytes_decode_within_range_or_are_refused(config):
    try:
        express = parse_express(config)
    except ValueError:
        express = None
    if express is not None:
        assert 0x40 <= express["capability"] <= 0xFC
        assert {express["max_payload"], express["max_payload_supported"], express["max_read_request"]} <= {*SIZES, None}
        link = express["link"]
        assert link is None or (0 <= link["width"] <= 63 and link["speed_gts"] in (*SPEEDS, None))
    acs = parse_acs(config)
    assert acs is None or len(acs) == 7
    for window in parse_resizable_bars(config):
        assert 0 <= window["bar"] <= 7
        assert all(size >= 1 << 20 for size in window["sizes"])
