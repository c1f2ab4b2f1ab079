# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci.sysfs import (
    parse_aer,
    parse_resource,
    read_aer,
    read_bars,
    read_driver,
    read_id,
    read_iommu,
    read_numa_node,
    read_subsystem,
)

from hosts.pci import bind, plant_device, plant_gpu

GPU = "0000:06:00.0"

# A device of a 6.8 kernel
CORRECTABLE = """RxErr 0
BadTLP 3
BadDLLP 12
Rollover 0
Timeout 1
NonFatalErr 0
CorrIntErr 0
HeaderOF 0
TOTAL_ERR_COR 16"""


def test_ids(tree, host):
    plant_gpu(tree, GPU, parent=None)
    assert [read_id(host, GPU, "vendor"), read_id(host, GPU, "device"), read_id(host, GPU, "class", 6),
            read_id(host, GPU, "revision", 2)] == ["10de", "2bb5", "030200", "a1"]
    assert read_subsystem(host, GPU) == "10de:204e"


def test_ids_that_cannot_be_read(tree, host):
    tree.file(f"/sys/bus/pci/devices/{GPU}/vendor", "nobody")
    assert read_id(host, GPU, "vendor") is None
    assert read_id(host, GPU, "device") is None
    assert read_subsystem(host, GPU) is None


def test_a_bridge_names_no_board(tree, host):
    plant_device(tree, GPU, subsystem=(0, 0))
    assert read_subsystem(host, GPU) is None


def test_the_driver_and_none(tree, host):
    plant_gpu(tree, GPU, parent=None)
    assert read_driver(host, GPU) == "nvidia"
    bind(tree, GPU, "vfio-pci")
    assert read_driver(host, GPU) == "vfio-pci"
    bind(tree, GPU, None)
    assert read_driver(host, GPU) is None


def test_an_unknown_node_is_minus_one(tree, host):
    plant_device(tree, GPU, numa_node=-1)
    assert read_numa_node(host, GPU).value == -1


def test_iommu_group_and_type(tree, host):
    plant_device(tree, GPU, iommu_group=31, iommu_type="DMA-FQ")
    group, kind = read_iommu(host, GPU)
    assert (group.value, kind.value) == (31, "DMA-FQ")


def test_no_iommu(tree, host):
    plant_device(tree, GPU)
    assert [reading.status for reading in read_iommu(host, GPU)] == ["absent", "absent"]


def test_a_kernel_before_the_type_file(tree, host):
    plant_device(tree, GPU, iommu_group=31)
    tree.remove("/sys/kernel/iommu_groups/31/type")
    group, kind = read_iommu(host, GPU)
    assert (group.value, kind.status) == (31, "unparsable")     # it is in a group, whose type nobody tells


def test_counters():
    assert parse_aer(CORRECTABLE) == (16, {"BadTLP": 3, "BadDLLP": 12, "Timeout": 1})


def test_names_with_spaces_and_a_total_that_is_not_the_sum():
    assert parse_aer("Receiver Error 2\nRELAY_NUM Rollover 1\nTOTAL_ERR_COR 7") == (
        7, {"Receiver Error": 2, "RELAY_NUM Rollover": 1})


def test_counters_without_a_total_are_summed():
    assert parse_aer("RxErr 2\nBadTLP 5") == (7, {"RxErr": 2, "BadTLP": 5})


def test_counters_of_a_device(tree, host):
    plant_device(tree, GPU, aer={"correctable": {"RxErr": 5}, "nonfatal": {"DLP": 1}, "fatal": {"DLP": 2, "SDES": 1}})
    assert read_aer(host, GPU).value == {"correctable": 5, "nonfatal": 1, "fatal": 3,
                                         "details": {"RxErr": 5, "DLP": 3, "SDES": 1}}


def test_counters_that_firmware_keeps_are_absent(tree, host):
    plant_device(tree, GPU)
    assert read_aer(host, GPU).status == "absent"


@pytest.mark.parametrize("text", ["RxErr", "RxErr many", "\n"])
def test_counters_that_make_no_sense(tree, host, text):
    plant_device(tree, GPU, aer={})
    tree.file(f"/sys/bus/pci/devices/{GPU}/aer_dev_fatal", text)
    assert read_aer(host, GPU).status == "unparsable"


def test_bars_of_a_gpu(tree, host):
    plant_gpu(tree, GPU, parent=None)
    assert read_bars(host, GPU).value == [
        {"index": 0, "start": 0x7B000000000, "size": 64 << 20, "bits": 64, "prefetchable": True},
        {"index": 2, "start": 0x76000000000, "size": 128 << 30, "bits": 64, "prefetchable": True},
        {"index": 4, "start": 0x7B064000000, "size": 32 << 20, "bits": 64, "prefetchable": True}]


def test_lines_that_are_no_memory_bar():
    assert parse_resource("\n".join([
        "0x00000000c5000000 0x00000000c5ffffff 0x0000000000040200",     # 32-bit, not prefetchable
        "0x0000000000000000 0x0000000000000000 0x0000000000000000",     # unused
        "0x0000000000001000 0x000000000000107f 0x0000000000040101",     # I/O ports
        "0x0000000000000000 0x0000000fffffffff 0x000000002014220c",     # no room was found for it: UNSET
        "0x0000000000000000 0x0000000000000000 0x0000000000000000",
        "0x0000000000000000 0x0000000000000000 0x0000000000000000",
        "0x00000000c6000000 0x00000000c607ffff 0x0000000000046200",     # the ROM
    ])) == [{"index": 0, "start": 0xC5000000, "size": 16 << 20, "bits": 32, "prefetchable": False}]


def test_bars_that_make_no_sense(tree, host):
    plant_device(tree, GPU)
    tree.file(f"/sys/bus/pci/devices/{GPU}/resource", "0x1000 0x2000")
    assert read_bars(host, GPU).status == "unparsable"
