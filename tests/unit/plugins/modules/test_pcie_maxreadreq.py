# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from hosts.config_space import ConfigSpace, gpu_space
from hosts.kernel import plant_kernel
from hosts.nvidia import plant_nvidia
from hosts.pci import bind, device_path, plant_device, plant_gpu, plant_root_port, write_config
from hosts.processes import plant_process

GPUS = [f"0000:{bus:02x}:00.0" for bus in (0x01, 0x21, 0x41, 0x61, 0x81, 0xA1, 0xC1, 0xE1)]
ADDRESSES = [f"pcie_maxreadreq:{gpu}" for gpu in GPUS]


@pytest.fixture
def root(tree):
    for number, gpu in enumerate(GPUS):
        plant_gpu(tree, gpu, parent=plant_root_port(tree, f"0000:{number:02x}:01.1"))
    plant_kernel(tree)
    plant_nvidia(tree, gpus=[(gpu, number) for number, gpu in enumerate(GPUS)])
    plant_device(tree, "0000:05:00.0", parent="0000:00:01.1", vendor=0x15B3, class_=0x020000, driver="mlx5_core",
                 config=ConfigSpace(vendor=0x15B3).express(0x60, max_read_request=4096))
    return str(tree.root)


def outcomes(result):
    return {change["address"]: change["outcome"] for change in result["changes"]}


def test_without_anything_it_reads_all_gpus(call, root, tree):
    result = call("pcie_maxreadreq", {"sysroot": root})
    assert [(reading["address"], reading["value"]) for reading in result["readings"]] == [
        (address, 512) for address in ADDRESSES]
    assert result["snapshot"] == dict.fromkeys(GPUS, 512)
    assert (result["changed"], tree.path("/run/gpuhost").exists()) == (False, False)


def test_any_device_can_be_read_by_its_address(call, root):
    result = call("pcie_maxreadreq", {"sysroot": root, "devices": ["0000:05:00.0"]})
    assert result["readings"][0]["value"] == 4096
    assert call("pcie_maxreadreq", {"sysroot": root, "class": "02"})["readings"][0]["value"] == 4096


def test_there_and_back(call, root, tree):
    before = {gpu: tree.path(f"{device_path(tree, gpu)}/config").read_bytes() for gpu in GPUS}
    arguments = {"sysroot": root, "bytes": 4096}
    predicted = call("pcie_maxreadreq", arguments, check=True, diff=True)
    assert {change["certainty"] for change in predicted["changes"]} == {"kernel_decides"}
    done = call("pcie_maxreadreq", arguments, diff=True)
    assert predicted["diff"] == done["diff"]
    assert done["diff"]["after"].splitlines()[0] == "pcie_maxreadreq:0000:01:00.0 = 4096"
    assert outcomes(done) == dict.fromkeys(ADDRESSES, "changed")
    assert not call("pcie_maxreadreq", arguments, check=True)["changed"]
    assert not call("pcie_maxreadreq", arguments)["changed"]
    back = {"sysroot": root, "values": done["snapshot"]}
    assert call("pcie_maxreadreq", back, check=True)["changed"]
    assert call("pcie_maxreadreq", back)["changed"]
    assert not call("pcie_maxreadreq", back)["changed"]
    assert {gpu: tree.path(f"{device_path(tree, gpu)}/config").read_bytes() for gpu in GPUS} == before


def test_a38_all_nvidia_gpus_with_one_passed_through(call, root, tree):
    """A-38."""
    bind(tree, GPUS[7], "vfio-pci")
    result = call("pcie_maxreadreq", {"sysroot": root, "vendor": "10de", "bytes": 4096})
    assert result["failed"]
    assert outcomes(result) == {**dict.fromkeys(ADDRESSES[:7], "changed"), ADDRESSES[7]: "refused"}
    assert result["msg"].splitlines()[7] == (
        "pcie_maxreadreq:0000:e1:00.0: refused: wanted 4096, found 512: passed_through: it is bound to vfio-pci")
    assert len(call("pcie_maxreadreq", {"sysroot": root, "driver": "nvidia"})["readings"]) == 7


def test_a44_the_wanted_value_is_written_not_a_constant(call, root, tree):
    """A-44."""
    write_config(tree, GPUS[0], gpu_space(max_read_request=256))
    assert call("pcie_maxreadreq", {"sysroot": root, "devices": [GPUS[0]], "bytes": 512})["changes"][0]["after"] == 512


def test_a58_without_a_selector_only_gpus_are_meant(call, root):
    """A-58."""
    assert sorted(outcomes(call("pcie_maxreadreq", {"sysroot": root, "bytes": 4096}))) == ADDRESSES


def test_a_nic_is_read_and_never_written(call, root):
    result = call("pcie_maxreadreq", {"sysroot": root, "class": "02", "bytes": 512})
    assert "only GPUs are written" in result["msg"]


def test_busy_needs_permission(call, root, tree):
    plant_process(tree, 4711, "vllm", ("/dev/nvidia0",))
    arguments = {"sysroot": root, "devices": [GPUS[0]], "bytes": 4096}
    assert "busy: in use by vllm (pid 4711)" in call("pcie_maxreadreq", arguments)["msg"]
    assert outcomes(call("pcie_maxreadreq", {**arguments, "allow_busy": True})) == {ADDRESSES[0]: "changed"}


@pytest.mark.parametrize("size", [0, 100, 8192, "4k", True])
def test_wrong_sizes_are_rejected_before_anything_is_touched(call, root, tree, size):
    for arguments in ({"bytes": size}, {"values": {GPUS[1]: 4096, GPUS[0]: size}}):
        assert call("pcie_maxreadreq", {"sysroot": root, **arguments})["failed"]
    assert not tree.path("/run/gpuhost").exists()


@pytest.mark.parametrize("size", ["512 B", "0x200", "512.0", "5_12", 512.0, "", True])
def test_every_other_spelling_has_one_message_in_both_options(call, root, size):
    wrong = f"{size!r} is none of 128, 256, 512, 1024, 2048, 4096"
    assert call("pcie_maxreadreq", {"sysroot": root, "bytes": size})["msg"] == f"bytes: {wrong}"
    assert call("pcie_maxreadreq", {"sysroot": root, "values": {GPUS[0]: size}})["msg"] == f"{GPUS[0]}: {wrong}"


@pytest.mark.parametrize("size", [512, "512"])
def test_a_number_and_its_digits_are_taken_in_both_options(call, root, size):
    for wanted in ({"devices": [GPUS[0]], "bytes": size}, {"values": {GPUS[0]: size}}):
        assert call("pcie_maxreadreq", {"sysroot": root, **wanted})["changes"][0]["wanted"] == 512


@pytest.mark.parametrize("arguments", [
    {"values": {"2460.0": 4096}}, {"values": {"60.0": 4096}}, {"devices": [2460.0]},
    {"devices": [2460.0], "bytes": 4096}])
def test_an_address_that_yaml_took_for_a_number(call, root, arguments):
    result = call("pcie_maxreadreq", {"sysroot": root, **arguments})
    assert result["failed"]
    assert "quote it in YAML" in result["msg"]


def test_a_short_address_in_a_list_of_devices(call, root):
    assert outcomes(call("pcie_maxreadreq", {"sysroot": root, "devices": ["41:00.0"], "bytes": 4096})) == {
        "pcie_maxreadreq:0000:41:00.0": "changed"}
    missing = call("pcie_maxreadreq", {"sysroot": root, "devices": ["99:00.0"], "bytes": 4096})
    assert "no such PCI device" in missing["msg"]


@pytest.mark.parametrize("arguments", [{"bytes": 4096, "values": {GPUS[0]: 512}},
                                       {"devices": [GPUS[0]], "vendor": "10de"}])
def test_what_cannot_be_said_together(call, root, arguments):
    assert "mutually exclusive" in call("pcie_maxreadreq", {"sysroot": root, **arguments})["msg"]


def test_a_host_without_gpus(call, tree):
    plant_kernel(tree)
    result = call("pcie_maxreadreq", {"sysroot": str(tree.root), "bytes": 4096})
    assert (result["changed"], result["readings"], result["changes"]) == (False, [], [])
