# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import functools
import json

import jsonschema
import pytest
import referencing
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import as_facts
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci import gpus as pci_gpus
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci import iommu
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkout import REPOSITORY
from hosts import pci
from hosts.config_space import ConfigSpace, all_ones, gpu_space, switch_port_space

SCHEMAS = REPOSITORY / "plugins" / "plugin_utils" / "schemas" / "facts"
GPU = "0000:06:00.0"
NOTHING = {"gpus": [], "ports": [],
           "pcie": {"aspm_policy": ("absent", None, "ENOENT (No such file or directory)"), "nvswitches": []}}
PATH = ["0000:02:01.0", "0000:01:00.0", "0000:00:01.1"]


@pytest.fixture
def switched(tree):
    """Two GPUs behind one switch, a third on a root port of its own, a display of the management controller."""
    root = pci.plant_root_port(tree, "0000:00:01.1")
    below = pci.plant_switch(tree, "0000:01:00.0", ["0000:02:01.0", "0000:02:02.0"], parent=root)
    pci.plant_gpu(tree, GPU, parent=below[0], iommu_group=31, interrupts={493: "0-3"})
    pci.plant_gpu(tree, "0000:07:00.0", parent=below[1], iommu_group=32)
    other = pci.plant_root_port(tree, "0000:80:01.1", numa_node=1)
    pci.plant_gpu(tree, "0000:81:00.0", parent=other, numa_node=1, local_cpulist="64-127", iommu_group=50)
    pci.plant_bmc_display(tree, "0000:52:00.0")
    pci.plant_device(tree, "0000:06:00.1", parent=below[0], class_=0x040300, device=0x22E8, driver="snd_hda_intel")


def read_gpu(host, address=GPU):
    return next(gpu for gpu in pci_gpus.read(host)["gpus"] if gpu["bdf"] == address)


@functools.lru_cache
def validator(section):
    registry = referencing.Registry().with_resources(
        (path.name, referencing.Resource.from_contents(json.loads(path.read_text())))
        for path in SCHEMAS.glob("*.json"))
    return jsonschema.Draft202012Validator({"$ref": f"{section}.json"}, registry=registry)


def validate(section, facts):
    validator(section).validate(as_facts(facts))


# -- which devices are GPUs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("class_, vendor, device, path, expected", [
    ("030000", "10de", "2684", ["0000:00:01.1"], True),         # RTX 4090
    ("030200", "10de", "2bb5", ["0000:00:01.1"], True),
    ("038000", "1002", "740f", ["0000:00:01.1"], True),         # Instinct MI210
    ("120000", "1002", "74a1", ["0000:00:01.1"], True),         # Instinct MI300X
    ("120000", "1da3", "1020", ["0000:00:01.1"], True),         # Gaudi 2
    ("038000", "8086", "56c0", ["0000:00:01.1"], True),         # Flex 170
    ("030200", "10de", "2330", [], True),                       # passed into a VM: on the root bus
    ("120000", "8086", "7d1d", [], False),                      # the NPU of a Core Ultra
    ("120000", "8086", "0b30", ["0000:00:01.1"], True),         # an FPGA card
    ("030000", "8086", "a780", [], False),                      # graphics of the processor
    ("030000", "1a03", "2000", ["0000:00:1c.0"], False),        # ASPEED
    ("030000", "102b", "0538", ["0000:00:1c.0"], False),        # Matrox G200
    ("030000", "1002", "515e", ["0000:00:1c.0"], False),        # ES1000
    ("030000", "1234", "1111", [], False),                      # QEMU's standard VGA
    ("038000", "1af4", "1050", [], False),                      # virtio
    ("030000", "1b36", "0100", [], False),                      # QXL
    ("040300", "10de", "22e8", ["0000:00:01.1"], False),        # the audio function of a GPU
    ("068000", "10de", "22a3", ["0000:00:01.1"], False),        # NVSwitch
    ("0c0330", "10de", "1ad6", ["0000:00:01.1"], False),        # the USB function of a GPU
    ("010802", "144d", "a80a", ["0000:00:01.1"], False),
    ("030000", None, None, ["0000:00:01.1"], False),
])
def test_what_is_a_gpu(class_, vendor, device, path, expected):
    assert pci_gpus.is_gpu(class_, vendor, device, path) is expected


def test_case_A58_only_gpus_are_listed(switched, host):
    assert [gpu["bdf"] for gpu in pci_gpus.read(host)["gpus"]] == [GPU, "0000:07:00.0", "0000:81:00.0"]


def test_case_A49_every_gpu_has_its_own_values(tree, host):
    for bus in range(1, 9):
        size = 256 if bus == 6 else 512
        pci.plant_gpu(tree, f"0000:{bus:02x}:00.0", parent=None, express={"max_read_request": size})
    sizes = [gpu["pcie"].value["max_read_request"] for gpu in pci_gpus.read(host)["gpus"]]
    assert sizes == [512, 512, 512, 512, 512, 256, 512, 512]


def test_a_host_without_gpus(tree, host):
    pci.plant_bmc_display(tree, "0000:52:00.0")
    assert without_count(pci_gpus.read(host)) == (NOTHING, ("ok", 1))


def test_a_host_without_pci(tree, host):
    """A kernel without PCI has /sys/bus; where that is missing too the bus could not be seen."""
    assert without_count(pci_gpus.read(host)) == (NOTHING, ("absent", None))
    tree.folder("/sys/bus")
    assert without_count(pci_gpus.read(host)) == (NOTHING, ("ok", 0))


def without_count(facts):
    functions = facts["pcie"].pop("functions")
    return facts, functions[:2]


# -- what is said of one --------------------------------------------------------------------------------------------


def test_a_gpu(switched, host):
    gpu = read_gpu(host)
    plain = {key: gpu[key] for key in (
        "bdf", "vendor", "device", "class", "subsystem", "revision", "generation", "state", "driver", "largest_bar",
        "virtual_function", "physical_function", "virtual_functions", "path", "model")}
    assert plain == {
        "bdf": GPU, "vendor": "10de", "device": "2bb5", "class": "030200", "subsystem": "10de:204e", "revision": "a1",
        "generation": "blackwell", "state": "ok", "driver": "nvidia", "largest_bar": 137438953472,
        "virtual_function": False, "physical_function": None, "virtual_functions": 0, "path": PATH, "model": None}
    assert (gpu["numa_node"].value, gpu["local_cpus"].value) == (0, "0-63")
    assert (gpu["iommu_group"].value, gpu["iommu_type"].value) == (31, "identity")
    assert gpu["pcie"].value["device_control"] == 0x2937
    assert gpu["aer"].value == {"correctable": 0, "nonfatal": 0, "fatal": 0, "details": {}}
    assert gpu["acs"] == ("ok", None, None)
    assert gpu["resizable_bar"].value[0]["bar"] == 2
    assert [entry["irq"] for entry in gpu["interrupts"]] == [493]


def test_a_gpu_of_another_vendor_has_no_generation(tree, host):
    pci.plant_device(tree, GPU, vendor=0x1002, device=0x2330, class_=0x120000)
    assert read_gpu(host)["generation"] is None


def test_the_ports_above_gpus_are_listed_once(switched, host):
    ports = pci_gpus.read(host)["ports"]
    assert [port["bdf"] for port in ports] == [
        "0000:00:01.1", "0000:01:00.0", "0000:02:01.0", "0000:02:02.0", "0000:80:01.1"]
    root, upstream, downstream = ports[:3]
    assert (root["pcie"].value["type"], root["driver"], root["state"]) == ("root_port", "pcieport", "ok")
    assert root["acs"].value["source_validation"] is True
    assert (upstream["pcie"].value["type"], upstream["acs"].value) == ("upstream_port", None)
    assert downstream["pcie"].value["max_read_request"] == 128


def test_case_A42_switch_ports_keep_their_own_size(switched, host):
    sizes = {port["pcie"].value["max_read_request"] for port in pci_gpus.read(host)["ports"]
             if port["pcie"].value["type"] != "root_port"}
    assert sizes == {128}


def test_a_virtual_function_and_its_parent(tree, host):
    pci.plant_gpu(tree, GPU, parent=None, virtual_functions=2)
    pci.plant_gpu(tree, "0000:06:00.4", parent=None, physical_function=GPU, driver=None)
    parent, virtual = pci_gpus.read(host)["gpus"]
    assert (parent["virtual_functions"], parent["virtual_function"]) == (2, False)
    assert (virtual["virtual_function"], virtual["physical_function"]) == (True, GPU)


@pytest.mark.parametrize("bars, largest", [
    ([(0, 0xC5000000, 16 << 20, 32, False), (1, 0x52000000000, 64 << 30, 64, True),
      (3, 0x53420000000, 32 << 20, 64, True)], 64 << 30),
    ([(0, 0x1E042000000, 16 << 20, 64, True), (2, 0x1A000000000, 128 << 30, 64, True)], 128 << 30),
    ([(0, 0xC5000000, 16 << 20, 32, False), (1, 0xB0000000, 256 << 20, 32, True)], None),
    ([], None),
])
def test_the_window_to_memory_is_found_whatever_its_number(tree, host, bars, largest):
    pci.plant_gpu(tree, GPU, parent=None, bars=bars)
    assert read_gpu(host)["largest_bar"] == largest


# -- what stands in the way of it -----------------------------------------------------------------------------------


def test_case_A55_a_gpu_that_fell_off_is_gone_and_the_others_are_read(tree, switched, host):
    pci.write_config(tree, GPU, all_ones())
    gpus = pci_gpus.read(host)["gpus"]
    assert [gpu["state"] for gpu in gpus] == ["gone", "ok", "ok"]
    assert gpus[0]["pcie"] == ("gone", None, gpus[0]["pcie"].detail)
    assert (gpus[0]["vendor"], gpus[0]["driver"]) == ("10de", "nvidia")
    assert [gpu["pcie"].status for gpu in gpus[1:]] == ["ok", "ok"]


def test_a_suspended_gpu_is_asleep_and_the_others_are_read(tree, switched, host):
    pci.suspend(tree, GPU)
    gpus = pci_gpus.read(host)["gpus"]
    assert [gpu["state"] for gpu in gpus] == ["asleep", "ok", "ok"]
    assert [gpus[0][key].status for key in ("pcie", "acs", "resizable_bar", "aer", "bars")] == [
        "asleep", "asleep", "asleep", "ok", "ok"]
    assert gpus[0]["power"]["runtime_status"].value == "suspended"


def test_below_a_suspended_port_everything_sleeps(tree, switched, host):
    pci.suspend(tree, "0000:02:01.0", "D3hot")
    facts = pci_gpus.read(host)
    assert [gpu["state"] for gpu in facts["gpus"]] == ["asleep", "ok", "ok"]
    assert [port["state"] for port in facts["ports"]] == ["ok", "ok", "asleep", "ok", "ok"]


def test_case_A38_a_gpu_of_a_guest_is_passed_through_and_its_registers_are_facts(tree, switched, host):
    pci.bind(tree, GPU, "vfio-pci")
    gpus = pci_gpus.read(host)["gpus"]
    assert [gpu["state"] for gpu in gpus] == ["passed_through", "ok", "ok"]
    assert gpus[0]["pcie"].value["max_read_request"] == 512


def test_a_guests_gpu_that_sleeps_is_passed_through_and_not_read(tree, switched, host):
    pci.bind(tree, GPU, "vfio-pci")
    pci.suspend(tree, GPU, "D3hot")
    gpu = read_gpu(host)
    assert (gpu["state"], gpu["pcie"].status) == ("passed_through", "asleep")


def test_a_guests_gpu_that_fell_off_is_gone(tree, switched, host):
    pci.bind(tree, GPU, "vfio-pci")
    pci.write_config(tree, GPU, all_ones())
    assert read_gpu(host)["state"] == "gone"


def test_without_root_what_needs_it_is_denied(tree, switched, host):
    for address in [GPU, *PATH]:
        tree.file(f"/sys/bus/pci/devices/{address}/config", gpu_space().bytes(64))
    facts = pci_gpus.read(host)
    gpu = facts["gpus"][0]
    assert (gpu["state"], gpu["pcie"].status, gpu["acs"].status, gpu["resizable_bar"].status) == (
        "ok", "denied", "denied", "denied")
    assert (gpu["numa_node"].value, gpu["largest_bar"], gpu["aer"].status) == (0, 128 << 30, "ok")
    assert {port["pcie"].status for port in facts["ports"]} == {"denied", "ok"}


# -- the schema -----------------------------------------------------------------------------------------------------


def test_facts_are_as_the_schema_says(tree, switched, host):
    facts = pci_gpus.read(host)
    validate("gpus", facts["gpus"])
    validate("ports", facts["ports"])
    validate("iommu", iommu.read(host, facts["gpus"]))


def test_facts_of_odd_devices_are_as_the_schema_says(tree, switched, host):
    pci.write_config(tree, GPU, all_ones())
    pci.suspend(tree, "0000:07:00.0")
    pci.write_config(tree, "0000:81:00.0", gpu_space().max_read_request_code(7).bytes(256))
    pci.write_config(tree, "0000:80:01.1", switch_port_space(speed=None, width=0))
    pci.write_config(tree, "0000:01:00.0", ConfigSpace(size=256).power_management())
    tree.file("/sys/bus/pci/devices/0000:81:00.0/numa_node", "none").file(
        "/sys/bus/pci/devices/0000:81:00.0/vendor", "?").file("/sys/bus/pci/devices/0000:02:01.0/class", "?")
    facts = pci_gpus.read(host)
    validate("gpus", facts["gpus"])
    validate("ports", facts["ports"])


@pytest.fixture
def lone_gpu(tree):
    pci.plant_gpu(tree, GPU, parent=None)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(st.binary(max_size=4096), st.binary(max_size=300), st.binary(max_size=30))
def test_facts_of_any_bytes_are_as_the_schema_says(tree, host, lone_gpu, config, text, short):
    tree.file(f"/sys/bus/pci/devices/{GPU}/config", config).file(f"/sys/bus/pci/devices/{GPU}/resource", text)
    for name in ("aer_dev_fatal", "device", "revision", "numa_node", "sriov_numvfs", "power_state", "subsystem_device"):
        tree.file(f"/sys/bus/pci/devices/{GPU}/{name}", short)
    validate("gpus", pci_gpus.read(host)["gpus"])


# -- AMD, and power of links ------------------------------------------------------------------------------------------


def test_what_amdgpu_says_of_its_own_gpus_only(tree, host):
    root = pci.plant_root_port(tree, "0000:00:01.1")
    fields = {"vendor": 0x1002, "device": 0x74A1, "class_": 0x120000, "config": gpu_space()}
    pci.plant_gpu(tree, GPU, parent=root, driver="amdgpu", **fields)
    pci.plant_gpu(tree, "0000:07:00.0", parent=root, driver=None, **fields)
    for address in (GPU, "0000:07:00.0"):
        tree.files(pci.device_path(tree, address), {
            "power_dpm_force_performance_level": "high", "current_memory_partition": "NPS4",
            "mem_info_vram_total": 1024})
    message = read_gpu(host)["amd"]
    assert {key: (reading.status, reading.value) for key, reading in message.items()} == {
        "performance_level": ("ok", "high"), "compute_partition": ("absent", None),
        "memory_partition": ("ok", "NPS4"), "xgmi_hive": ("absent", None), "memory_bytes": ("ok", 1024)}
    assert read_gpu(host, "0000:07:00.0")["amd"] is None
    validate("gpus", pci_gpus.read(host)["gpus"])


def test_the_policy_of_aspm(tree, host):
    pci.plant_aspm_policy(tree, "powersave")
    assert pci_gpus.read(host)["pcie"]["aspm_policy"] == ("ok", "powersave", None)
    validate("pcie", pci_gpus.read(host)["pcie"])


def test_switches_of_nvlink_are_bridges_of_nvidia(tree, host):
    pci.plant_device(tree, "0000:05:00.0", class_=0x068000, device=0x22A3)
    pci.plant_device(tree, "0000:00:14.5", class_=0x068000, vendor=0x1022, device=0x14B6)
    pci.plant_device(tree, "0000:06:00.1", class_=0x040300, device=0x22E8)
    assert pci_gpus.read(host)["pcie"]["nvswitches"] == ["0000:05:00.0"]


def test_links_are_looked_at_again_only_where_asked(switched, tree, host, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    pci.bind(tree, "0000:81:00.0", "vfio-pci")
    assert {gpu["link_samples"] for gpu in pci_gpus.read(host)["gpus"]} == {None}
    found = {gpu["bdf"]: gpu["link_samples"] for gpu in pci_gpus.read(host, 3)["gpus"]}
    at_rest = {"looks": 3, "changes": 0, "min_speed_gts": 2.5, "max_speed_gts": 2.5, "min_width": 16, "max_width": 16}
    assert found == {GPU: at_rest, "0000:07:00.0": at_rest, "0000:81:00.0": None}      # a guest's is left alone
    validate("gpus", pci_gpus.read(host, 3)["gpus"])
