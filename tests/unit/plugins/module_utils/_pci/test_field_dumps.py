# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Public dumps of config spaces from real machines decode to what an independent tool says of them."""
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci.capabilities import (
    find_pcie_capability,
    is_gone,
    read_u16,
    walk_capabilities,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci.registers import parse_acs, parse_express

from hosts.config_space import root_port_space
from lspci_dump import parse_dump

PORT_TYPES = {0: "endpoint", 1: "legacy_endpoint", 4: "root_port", 5: "upstream_port", 6: "downstream_port",
              7: "pcie_pci_bridge", 8: "pci_pcie_bridge", 9: "integrated_endpoint", 10: "event_collector"}
SPEEDS = {0: None, 1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
ACS_NAMES = {"SrcValid": 0x01, "TransBlk": 0x02, "ReqRedir": 0x04, "CmpltRedir": 0x08, "UpstreamFwd": 0x10,
             "EgressCtrl": 0x20, "DirectTrans": 0x40}


@pytest.fixture(scope="module")
def dumps(field_files):
    """`[(file, what is expected of a device, its bytes)]`."""
    folder = field_files / "lspci_hex"
    found = []
    for name, devices in json.loads((folder / "EXPECTED.json").read_text()).items():
        spaces = parse_dump((folder / name).read_text(errors="replace"))
        found += [(name, device, spaces[device["bdf"]]) for device in devices]
    return found


def test_every_dump_has_its_bytes(dumps):
    assert len(dumps) > 40
    for name, device, config in dumps:
        assert len(config) == device["len"], name
        assert f"{read_u16(config, 0):04x}" == device["vendor"], name


def test_capability_lists(dumps):
    for name, device, config in dumps:
        if is_gone(config):
            assert list(walk_capabilities(config)) == []
            continue
        found = [f"{number:02x}@{offset:02x}" for number, offset in walk_capabilities(config)]
        assert found == device.get("caps", []), f"{name} {device['bdf']}"


def test_express_registers(dumps):
    seen = 0
    for name, device, config in dumps:
        where = f"{name} {device['bdf']}"
        if device["pcie_cap"] is None:
            assert find_pcie_capability(config) is None, where
            continue
        express = parse_express(config)
        assert express["capability"] == int(device["pcie_cap"], 16), where
        assert express["type"] == PORT_TYPES[device["port_type"]], where
        assert express["max_payload_supported"] == device["mps_cap"], where
        assert express["max_payload"] == device["mps"], where
        assert express["max_read_request"] == device["mrrs"], where
        assert express["device_control"] == int(device["devctl"], 16), where
        if express["link"] is not None:
            link = express["link"]
            assert (link["max_speed_gts"], link["max_width"]) == (
                SPEEDS[device["lnkcap"]["speed"]], device["lnkcap"]["width"]), where
            assert (link["speed_gts"], link["width"]) == (
                SPEEDS[device["lnksta"]["speed"]], device["lnksta"]["width"]), where
        seen += 1
    assert seen > 25


def test_case_A39_the_offsets_differ(dumps):
    assert {device["pcie_cap"] for _name, device, _config in dumps} >= {"0x40", "0x60", "0x68", "0x78", "0xc0"}


def test_case_A55_a_card_that_fell_off(dumps):
    config = next(config for name, _device, config in dumps if "fallen-off" in name)
    assert is_gone(config)
    with pytest.raises(ValueError):
        parse_express(config)


def test_case_A62_no_bridge_of_the_reference_host_redirects(field_files):
    text = (field_files / "lspci_text" / "rtxpro6000x8_esc8000a-e13p__lspci-vvv.txt").read_text()
    words = [sum(bit for name, bit in ACS_NAMES.items() if f"{name}+" in line)
             for line in text.splitlines() if "ACSCtl:" in line]
    assert len(words) == 40
    for word in words:
        acs = parse_acs(root_port_space(acs=word).bytes())
        assert not acs["request_redirect"] and not acs["completion_redirect"]
