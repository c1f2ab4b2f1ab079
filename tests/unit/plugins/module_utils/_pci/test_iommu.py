# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci import gpus, iommu

from hosts.pci import plant_device, plant_gpu


def test_the_type_of_the_groups_of_gpus(tree, host):
    plant_gpu(tree, "0000:01:00.0", parent=None, iommu_group=60, iommu_type="DMA-FQ")
    plant_gpu(tree, "0000:41:00.0", parent=None, iommu_group=61, iommu_type="DMA-FQ")
    plant_device(tree, "0000:e1:00.0", class_=0x010802, iommu_group=62, iommu_type="identity")
    facts = iommu.read(host, gpus.read(host)["gpus"])
    assert (facts["active"].value, facts["groups"]) == (True, 3)
    assert facts["default_type"] == ("ok", "DMA-FQ", None)


def test_types_that_differ_are_mixed(tree, host):
    plant_gpu(tree, "0000:01:00.0", parent=None, iommu_group=60, iommu_type="identity")
    plant_gpu(tree, "0000:41:00.0", parent=None, iommu_group=61, iommu_type="DMA")
    assert iommu.read(host, gpus.read(host)["gpus"])["default_type"].value == "mixed"


def test_case_A65_the_groups_count_and_not_the_command_line(tree, host):
    tree.file("/proc/cmdline", "root=/dev/sda1 iommu=pt amd_iommu=on")
    plant_gpu(tree, "0000:01:00.0", parent=None, iommu_group=60, iommu_type="DMA-FQ")
    assert iommu.read(host, gpus.read(host)["gpus"])["default_type"].value == "DMA-FQ"


@pytest.mark.parametrize("folder, cmdline, active", [
    (True, "ro", ("ok", False)), (False, "ro amd_iommu=off", ("ok", False)), (False, "ro", ("absent", None))])
def test_no_iommu(tree, host, folder, cmdline, active):
    """Without the folder it is not known, unless the command line switched it off."""
    if folder:
        tree.folder("/sys/kernel/iommu_groups")
    tree.file("/proc/cmdline", cmdline)
    plant_gpu(tree, "0000:01:00.0", parent=None)
    facts = iommu.read(host, gpus.read(host)["gpus"])
    assert (facts["active"][:2], facts["groups"], facts["default_type"].status) == (active, 0, "absent")


def test_no_gpu(tree, host):
    plant_device(tree, "0000:e1:00.0", class_=0x010802, iommu_group=62)
    facts = iommu.read(host, [])
    assert (facts["active"].value, facts["groups"], facts["default_type"].status) == (True, 1, "absent")
