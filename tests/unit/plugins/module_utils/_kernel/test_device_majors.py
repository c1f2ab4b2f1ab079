# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.device_majors import (
    owners,
    parse_devices,
    read_majors,
)

TEXT = """Character devices:
  1 mem
  4 /dev/vc/0
195 nvidia
195 nvidia-modeset
195 nvidiactl
231 infiniband_mad
239 infiniband_mad
511 nvidia-uvm

Block devices:
  9 md
195 not_a_character_device
"""


def test_names_and_majors_repeat():
    found = parse_devices(TEXT)
    assert [entry["name"] for entry in found if entry["major"] == 195] == ["nvidia", "nvidia-modeset", "nvidiactl"]
    assert [entry["major"] for entry in found if entry["name"] == "infiniband_mad"] == [231, 239]
    assert {"name": "/dev/vc/0", "major": 4} in found
    assert len(found) == 8


def test_owners_of_a_major():
    found = parse_devices(TEXT)
    assert owners(found, 195) == ["nvidia", "nvidia-modeset", "nvidiactl"]
    assert owners(found, 509) == []
    assert owners(found, None) == []


def test_odd_lines():
    assert parse_devices("") == []
    assert parse_devices("Character devices:\nx y\n12\n 13 \n 14  two words \n\u00b2 square\n") == [
        {"name": "two words", "major": 14}]


def test_one_more_module_moves_the_majors(field_files):
    """A-68: the same host with gdrdrv and without it."""
    def majors(name):
        return {entry["name"]: entry["major"] for entry in parse_devices((field_files / "proc" / name).read_text())
                if entry["name"].startswith(("nvidia-uvm", "gdrdrv"))}
    assert majors("devices__same-host-no-gdrdrv-uvm509.txt") == {"nvidia-uvm": 509}
    assert majors("devices__rdma-gdrdrv-uvm510-nvswitch511.txt") == {"gdrdrv": 509, "nvidia-uvm": 510}


def test_this_machine_has_the_memory_device():
    assert {"name": "mem", "major": 1} in read_majors(Host()).value


def test_missing_file(host):
    assert read_majors(host).status == "absent"
