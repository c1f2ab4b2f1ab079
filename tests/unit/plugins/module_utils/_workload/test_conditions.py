# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a host while something is measured on it."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._workload.conditions import (
    parse_available,
    read_conditions,
)

from hosts.instinct import instinct
from hosts.nvidia import Gpu, plant_hung, smi_xml
from hosts.processes import plant_container_process, plant_persistenced
from hosts.story_before import GPUS, all_ones_on, asleep, story_before
from hosts.tree import Tree

FIRST, SECOND = list(GPUS)[:2]
SILENT = {"temperature_c": None, "sm_mhz": None, "throttle": None, "power_w": None}


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    tree = story_before(Tree(tmp_path_factory.mktemp("conditions")), cores=1)
    message = {"temperature": 71, "sm_clock": 1830, "power_draw": 412.5, "reasons": ("sw_power_cap", "hw_slowdown")}
    gpus = [Gpu(*gpu, smi=message if gpu[0] == FIRST else {"temperature": "N/A"}) for gpu in GPUS.items()]
    tree.program("nvidia-smi.xml", smi_xml(gpus, "570.133.20")).file("/proc/loadavg", "1.25 0.80 0.50 2/1234 5678")
    plant_container_process(tree, 4711, "vllm", "101", ("/dev/nvidia0",))
    plant_persistenced(tree, 700, ("/dev/nvidia0",))
    return tree


def test_a_host_at_work(planted):
    found = read_conditions(Host(str(planted.root)))
    gpus = {gpu["bdf"]: gpu for gpu in found.pop("gpus")}
    assert list(gpus) == sorted(GPUS)
    assert gpus[FIRST] == {"bdf": FIRST, "temperature_c": 71, "sm_mhz": 1830, "power_w": 412.5,
                           "throttle": ["sw_power_cap", "hw_slowdown"]}
    assert gpus[SECOND] == {"bdf": SECOND, "temperature_c": None, "sm_mhz": 180, "power_w": 39.17, "throttle": []}
    assert found.pop("memory_available_mib") > 0
    assert len(found.pop("boot_id")) == 36
    assert {"pid": 4711, "command": "vllm", "container": "101"} in found["users"]
    assert [user for user in found.pop("users") if user["pid"] == 700] == []
    assert found == {"load1": 1.25, "thp": "madvise", "governor": "performance"}


@pytest.mark.parametrize("change", [
    lambda tree: all_ones_on(tree, FIRST), lambda tree: asleep(tree, FIRST),
    lambda tree: plant_hung(tree, FIRST, boot=(tree.root / "proc/sys/kernel/random/boot_id").read_text().strip())])
def test_nobody_asks_a_gpu_that_is_gone_asleep_or_hung(tree, change):
    story_before(tree, cores=1)
    change(tree)
    assert read_conditions(Host(str(tree.root)))["gpus"] == [{"bdf": bdf, **SILENT} for bdf in sorted(GPUS)]


def test_sensors_of_another_vendor(tree):
    instinct(tree)
    first = read_conditions(Host(str(tree.root)))["gpus"][0]["bdf"]
    for name, value in (("temp2_input", 64000), ("freq1_input", 2_100_000_000), ("power1_input", 750_000_000)):
        tree.file(f"/sys/bus/pci/devices/{first}/hwmon/hwmon3/{name}", value)
    gpus = read_conditions(Host(str(tree.root)))["gpus"]
    assert gpus[0] == {"bdf": first, "temperature_c": 64.0, "sm_mhz": 2100, "throttle": None, "power_w": 750.0}
    assert gpus[1] == {"bdf": gpus[1]["bdf"], **SILENT}


def test_a_host_without_a_gpu_and_without_anything(tree):
    assert read_conditions(Host(str(tree.folder("/proc").root))) == {
        "boot_id": "boot-1", "load1": None, "thp": None, "governor": None, "memory_available_mib": None, "users": [],
        "gpus": []}


def test_memory():
    assert parse_available("MemTotal:  9 kB\nMemAvailable:   2097152 kB\n") == 2048
    with pytest.raises(ValueError, match=r"no line MemAvailable"):
        parse_available("MemTotal: 9 kB\n")
