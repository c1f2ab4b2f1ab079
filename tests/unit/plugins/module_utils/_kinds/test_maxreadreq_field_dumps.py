# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A39: MaxReadReq is written into public dumps of config spaces, and lspci reads what came of it."""
from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import set_values
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.maxreadreq import MaxReadRequestKind

from hosts.faulty import FaultyHost
from hosts.pci import device_path, plant_gpu, plant_root_port
from lspci_dump import parse_dump


@pytest.fixture(scope="module")
def express_devices(field_files):
    """`[(offset of the PCI Express capability, bytes)]` of every dump that holds one and is long enough for it."""
    folder = field_files / "lspci_hex"
    found = []
    for name, devices in json.loads((folder / "EXPECTED.json").read_text()).items():
        spaces = parse_dump((folder / name).read_text(errors="replace"))
        found += [(int(device["pcie_cap"], 16), spaces[device["bdf"]]) for device in devices
                  if device["pcie_cap"] is not None and device["len"] >= 256]
    return found


def hex_dump(address, config):
    """As `lspci -xxx` prints it, which `lspci -F` reads."""
    rows = [f"{offset:02x}: {config[offset:offset + 16].hex(' ')}" for offset in range(0, len(config), 16)]
    return "\n".join([f"{address} Display controller", *rows, "", ""])


def test_a39_two_bytes_of_every_dump_change_and_lspci_agrees(tree, express_devices):
    """A-39."""
    host = FaultyHost(str(tree.root))
    port = plant_root_port(tree, "0000:00:01.1")
    addresses = [f"0000:{number // 32 + 1:02x}:{number % 32:02x}.0" for number in range(len(express_devices))]
    for address, (_offset, config) in zip(addresses, express_devices):
        plant_gpu(tree, address, parent=port, config=config)
    baseline = set_values(MaxReadRequestKind(host), host, {}, addresses)["snapshot"]
    wanted = {address: 2048 if baseline[address] == 4096 else 4096 for address in addresses}
    result = set_values(MaxReadRequestKind(host), host, wanted, [])
    assert {change["outcome"] for change in result["changes"]} == {"changed"}
    text = ""
    for address, (offset, before) in zip(addresses, express_devices):
        after = tree.path(f"{device_path(tree, address)}/config").read_bytes()
        register = offset + 8
        assert after[:register] + after[register + 2:] == before[:register] + before[register + 2:], address
        words = [int.from_bytes(config[register:register + 2], "little") for config in (before, after)]
        assert (words[0] ^ words[1]) & ~0x7000 == 0, address
        text += hex_dump(address, after)
    assert len(express_devices) > 20
    if shutil.which("lspci") is None:
        pytest.skip("lspci is not installed: its word on the result is missing")
    dump = tree.path("/dump.txt")
    dump.write_text(text)
    message = subprocess.run(["lspci", "-F", str(dump), "-vv", "-D"], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in message.splitlines():
        if line and not line[0].isspace():
            address = line.split()[0]
        elif "MaxReadReq" in line:
            found[address] = int(line.split("MaxReadReq")[1].split()[0])
    assert found == wanted
