# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth import cuda_place
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.cuda_place import (
    bind_to_node,
    read_available_memory,
    read_link,
    read_node,
)

GPU = "0000:01:00.0"


@pytest.fixture
def sys(tree):
    tree.files(f"/sys/bus/pci/devices/{GPU}", {"numa_node": "1", "current_link_speed": "16.0 GT/s PCIe",
                                               "current_link_width": "8"})
    tree.file("/sys/devices/system/node/node1/cpulist", "4-5,8")
    return str(tree.path("/sys"))


@pytest.fixture
def bound(monkeypatch):
    """The CPUs that the thread was bound to, one call after the other; nothing is bound."""
    found = []
    monkeypatch.setattr(cuda_place, "_ALL_CPUS", {0, 4, 5, 8})
    monkeypatch.setattr(os, "sched_setaffinity", lambda _pid, cpus: found.append(cpus))
    return found


def test_the_link_as_it_is_now(sys, tree):
    assert read_link(sys, GPU) == {"speed_gt_s": 16.0, "width": 8}
    tree.file(f"/sys/bus/pci/devices/{GPU}/current_link_speed", "2.5 GT/s")
    assert read_link(sys, GPU)["speed_gt_s"] == 2.5


@pytest.mark.parametrize("speed", ["Unknown", "", "fast"])
def test_a_link_that_sysfs_does_not_tell(sys, tree, speed):
    tree.file(f"/sys/bus/pci/devices/{GPU}/current_link_speed", speed)
    assert read_link(sys, GPU) is None
    assert read_link(sys, "0000:99:00.0") is None


def test_memory_comes_from_the_node_of_the_gpu(sys, bound):
    assert bind_to_node(sys, GPU) == (1, True)
    assert bound[-1] == [4, 5, 8]


def test_firmware_that_names_no_node(sys, tree, bound):
    tree.file(f"/sys/bus/pci/devices/{GPU}/numa_node", "-1")
    assert (read_node(sys, GPU), bind_to_node(sys, GPU), bound) == (None, (None, False), [{0, 4, 5, 8}])
    assert read_node(sys, "0000:99:00.0") is None


def test_a_container_that_is_not_given_those_cpus_runs_where_it_may(sys, monkeypatch):
    """And not on the node of the GPU before."""
    bound = []

    def refuse(_pid, cpus):
        if cpus == [4, 5, 8]:
            raise OSError(22, "Invalid argument")
        bound.append(cpus)

    monkeypatch.setattr(cuda_place, "_ALL_CPUS", {0, 1})
    monkeypatch.setattr(cuda_place.os, "sched_setaffinity", refuse)
    assert (bind_to_node(sys, GPU), bound) == ((1, False), [{0, 1}])


@pytest.mark.parametrize("text, size", [
    ("MemTotal:       527765504 kB\nMemFree:          100000 kB\nMemAvailable:   400000000 kB\n", 409600000000),
    ("MemTotal:       527765504 kB\nMemFree:        400000000 kB\n", 0),
])
def test_memory_that_caches_hold_can_be_given_away(tmp_path, text, size):
    """A host that has read its models has little that is free, and much that is available."""
    (tmp_path / "meminfo").write_text(text)
    assert read_available_memory(str(tmp_path / "meminfo")) == size
