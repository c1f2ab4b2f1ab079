# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._placement import cgroup
from ansible_collections.gpuhost.tuning.plugins.module_utils._placement.numa_maps import (
    parse_numa_maps,
    read_huge_pages,
    with_huge_pages,
)

from hosts.placement import plant_group

# From a Debian 13 machine, shortened.
NUMA_STAT = """\
anon N0=1048576 N1=2097152
file N0=10485760 N1=0
kernel_stack N0=16384 N1=0
shmem N0=4194304 N1=0
anon_thp N0=0 N1=2097152
"""
OLD = """\
total=12 N0=10 N1=2
file=4 N0=4 N1=0
anon=8 N0=6 N1=2
hierarchical_total=100 N0=60 N1=40
hierarchical_file=40 N0=40 N1=0
hierarchical_anon=60 N0=20 N1=40
"""
MAPS = """\
55d0c0000000 default file=/usr/bin/qemu-system-x86_64 mapped=1200 N0=1200 kernelpagesize_kB=4
7f0000000000 bind:1 file=/run/hugepages/kvm/1048576kB/qemu_back_mem huge dirty=64 N0=4 N1=60 kernelpagesize_kB=1048576
7f8000000000 default anon=512 dirty=512 N1=512 kernelpagesize_kB=4
"""


def row(node, anon=0, shmem=0, file=0, huge=0):
    return {"node": node, "anon_kib": anon, "shmem_kib": shmem, "file_kib": file, "hugetlb_kib": huge}


def test_memory_of_a_group_by_node():
    assert cgroup.parse_numa_stat(NUMA_STAT) == [row(0, 1024, 4096, 6144), row(1, 2048)]


def test_the_first_version_counts_pages_with_those_of_groups_below():
    assert cgroup.parse_old_numa_stat(OLD) == [row(0, 80, 0, 160), row(1, 160)]


@pytest.mark.parametrize("text", ["", "nonsense", "file N0=1"])
def test_what_is_no_table_is_no_table_of_zeros(text):
    with pytest.raises(ValueError, match="no line anon"):
        cgroup.parse_numa_stat(text)


@pytest.mark.parametrize("text, cpus", [("max 100000", None), ("400000 100000", 4.0), ("150000 100000", 1.5)])
def test_the_limit_of_time(text, cpus):
    assert cgroup.parse_cpu_max(text) == cpus


@pytest.mark.parametrize("text, kib", [("max", None), ("1073741824", 1048576), ("9223372036854771712", None)])
def test_the_limit_of_memory(text, kib):
    assert cgroup.parse_limit(text) == kib


@pytest.mark.parametrize("text, path", [("0::/lxc/101/ns/init.scope", "/lxc/101/ns/init.scope"), ("0::/", "/"),
                                        ("1:name=systemd:/x", None), ("0::/a/../../etc", None), ("", None)])
def test_the_path_in_the_unified_hierarchy(text, path):
    assert cgroup.path_of(text) == path


def test_a_group_is_read_from_its_folder(tree, host):
    plant_group(tree, "/lxc/101", (1, 2), cpuset="0-3", effective="0-2", nodes="0", cpu_max="200000 100000")
    found = cgroup.read_group(host, "/lxc/101")
    assert (found["cpuset"].value, found["cpus"].value, found["memory_nodes"].value) == ("0-3", "0-2", "0")
    assert (found["cpu_limit"].value, found["memory_limit_kib"]) == (2.0, ok(None))
    assert found["memory"].value == [row(0, 1 << 20), row(1, 2 << 20)]


def test_a_group_without_controllers_tells_nothing(host):
    assert {reading.status for reading in cgroup.read_group(host, "/none").values()} == {"absent"}


def test_huge_pages_of_all_sizes_are_added_up(tree, host):
    assert cgroup.read_hugetlb(host, "/g").status == "absent"
    tree.file("/sys/fs/cgroup/g/hugetlb.2MB.numa_stat", "total=4194304 N0=2097152 N1=2097152")
    tree.file("/sys/fs/cgroup/g/hugetlb.1GB.numa_stat", "total=1073741824 N0=0 N1=1073741824")
    assert cgroup.read_hugetlb(host, "/g").value == {0: 2048, 1: 1050624}


def test_only_huge_mappings_count():
    assert parse_numa_maps(MAPS) == {0: 4 << 20, 1: 60 << 20}


def test_maps_that_are_too_long_are_not_half_read(tree, host):
    tree.file("/proc/9/numa_maps", MAPS)
    assert read_huge_pages(host, 9).value == {0: 4 << 20, 1: 60 << 20}
    tree.file("/proc/9/numa_maps", MAPS * 6000)
    assert read_huge_pages(host, 9).status == "unparsable"


def test_huge_pages_stand_beside_what_the_group_counts():
    memory = with_huge_pages(ok([row(0, 100)]), ok({1: 2048}))
    assert memory.value == [row(0, 100), row(1, 0, 0, 0, 2048)]
