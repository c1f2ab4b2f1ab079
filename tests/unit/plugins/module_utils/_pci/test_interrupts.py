# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci.interrupts import read_default_cpus, read_interrupts

from hosts.pci import plant_device, plant_gpu

GPU = "0000:06:00.0"


def values(interrupts):
    return [(entry["irq"], entry["affinity"].value, entry["effective"].value, entry["node"].value)
            for entry in interrupts]


@pytest.mark.parametrize(("text", "cpus"), [
    ("3", "0-1"), ("f", "0-3"), ("00000000,ffffffff", "0-31"), ("8000,00000001", "0,47"), ("0", ""),
    (",".join(["ffffffff"] * 8), "0-255"), ("0,1,2", "1,32")])
def test_the_cpus_of_new_interrupts(tree, host, text, cpus):
    tree.file("/proc/irq/default_smp_affinity", text)
    assert read_default_cpus(host).value == cpus


@pytest.mark.parametrize(("text", "status"), [("", "unparsable"), ("0x3g", "unparsable"), (None, "absent")])
def test_a_mask_that_is_none(tree, host, text, status):
    if text is not None:
        tree.file("/proc/irq/default_smp_affinity", text)
    assert read_default_cpus(host).status == status


def test_message_signalled_interrupts_by_number(tree, host):
    plant_gpu(tree, GPU, parent=None, interrupts={493: "0-63", 1001: "5", 99: "64"}, numa_node=1)
    assert values(read_interrupts(host, GPU)) == [(99, "64", "64", 1), (493, "0-63", "0-63", 1), (1001, "5", "5", 1)]


def test_the_cpus_that_are_allowed_and_those_that_are_used(tree, host):
    plant_gpu(tree, GPU, parent=None, interrupts={493: "0-63"})
    tree.file("/proc/irq/493/effective_affinity_list", "17")
    assert values(read_interrupts(host, GPU)) == [(493, "0-63", "17", 0)]


def test_a_kernel_without_effective_affinity(tree, host):
    plant_gpu(tree, GPU, parent=None, interrupts={493: "0-63"})
    tree.remove("/proc/irq/493/effective_affinity_list")
    assert read_interrupts(host, GPU)[0]["effective"].status == "absent"


def test_an_interrupt_line_counts_where_the_kernel_handles_it(tree, host):
    plant_gpu(tree, GPU, parent=None)
    tree.file(f"/sys/bus/pci/devices/{GPU}/irq", "42")
    assert read_interrupts(host, GPU) == []
    tree.files("/proc/irq/42", {"smp_affinity_list": "0-7", "effective_affinity_list": "3", "node": 0})
    assert values(read_interrupts(host, GPU)) == [(42, "0-7", "3", 0)]


def test_the_line_of_a_device_without_a_driver_may_be_anybodys(tree, host):
    plant_device(tree, GPU)
    tree.file(f"/sys/bus/pci/devices/{GPU}/irq", "42").files("/proc/irq/42", {"smp_affinity_list": "0-7", "node": 0})
    assert read_interrupts(host, GPU) == []


def test_no_interrupt(tree, host):
    plant_gpu(tree, GPU, parent=None)
    assert read_interrupts(host, GPU) == []
