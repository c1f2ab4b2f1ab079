# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._system.memory import (
    parse_arcstats,
    parse_shm,
    parse_swaps,
    read,
    read_thp,
)

from hosts.memory import (
    plant_arc,
    plant_hugepages,
    plant_ksm,
    plant_memory,
    plant_pmd_size,
    plant_shm,
    plant_swap,
    plant_thp,
)

HEADER = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"


def test_host_without_swap(tree, host):
    plant_memory(tree, total_kib=527765504, available_kib=480000000)
    plant_swap(tree)
    facts = read(host)
    assert facts["total_kib"].value == 527765504
    assert facts["available_kib"].value == 480000000
    assert facts["swap"] == ("ok", [], None)


def test_kernel_without_swap_support(host):
    assert read(host)["swap"].status == "absent"


def test_memory_that_is_not_said(tree, host):
    tree.file("/proc/meminfo", "MemTotal: 1024 kB")
    assert (read(host)["total_kib"].value, read(host)["available_kib"].status) == (1024, "absent")


@pytest.mark.parametrize(("row", "swap"), [
    ("/dev/dm-0                               partition\t8388604\t\t1024\t\t-2",
     {"device": "/dev/dm-0", "type": "partition", "size_kib": 8388604, "used_kib": 1024, "priority": -2,
      "zram": False}),
    ("/swap\\040file\\011with\\134odd\\012name      file\t\t2097148\t\t0\t\t10",
     {"device": "/swap file\twith\\odd\nname", "type": "file", "size_kib": 2097148, "used_kib": 0, "priority": 10,
      "zram": False}),
    ("/dev/zram0                              partition\t268435452\t12345678\t100",
     {"device": "/dev/zram0", "type": "partition", "size_kib": 268435452, "used_kib": 12345678, "priority": 100,
      "zram": True}),
    ("/swapfile\\040(deleted)                 file\t\t4194300\t\t0\t\t-2",
     {"device": "/swapfile (deleted)", "type": "file", "size_kib": 4194300, "used_kib": 0, "priority": -2,
      "zram": False}),
])
def test_rows_of_proc_swaps(row, swap):
    assert parse_swaps(f"{HEADER}{row}\n") == [swap]


def test_several_swaps_keep_their_order(tree, host):
    plant_swap(tree, "/dev/zram0  partition\t100\t\t0\t\t100", "/dev/sda2  partition\t200\t\t0\t\t-2")
    assert [swap["device"] for swap in read(host)["swap"].value] == ["/dev/zram0", "/dev/sda2"]


@pytest.mark.parametrize("row", ["/dev/sda2 partition 100", "/dev/sda2 partition many 0 -2"])
def test_odd_row_is_unparsable(tree, host, row):
    plant_swap(tree, row)
    assert read(host)["swap"].status == "unparsable"


def test_huge_pages_of_a_6_8_kernel(tree, host):
    plant_thp(tree, enabled="madvise", defrag="defer+madvise", shmem_enabled="advise", khugepaged_defrag=1,
              sizes={64: "never", 2048: "inherit", 128: "always"})
    plant_pmd_size(tree, 2 << 20)
    assert read_thp(host) == {
        "enabled": ("ok", "madvise", None),
        "enabled_choices": ("ok", ["always", "madvise", "never"], None),
        "defrag": ("ok", "defer+madvise", None),
        "shmem_enabled": ("ok", "advise", None),
        "khugepaged_defrag": ("ok", 1, None),
        "sizes": [{"kib": 64, "enabled": ("ok", "never", None)}, {"kib": 128, "enabled": ("ok", "always", None)},
                  {"kib": 2048, "enabled": ("ok", "inherit", None)}],
        "pmd_kib": ("ok", 2048, None),
    }


def test_size_of_shared_memory_only_is_left_out(tree, host):
    plant_thp(tree)
    tree.folder("/sys/kernel/mm/transparent_hugepage/hugepages-8kB/stats").folder(
        "/sys/kernel/mm/transparent_hugepage/hugepages-manykB")
    assert [size["kib"] for size in read_thp(host)["sizes"]] == [2048]


def test_kernel_without_huge_pages(host):
    facts = read_thp(host)
    assert facts.pop("sizes") == []
    assert {reading.status for reading in facts.values()} == {"absent"}


def test_choice_without_brackets_is_unparsable(tree, host):
    tree.file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise never")
    facts = read_thp(host)
    assert facts["enabled"].status == "unparsable"
    assert facts["enabled_choices"].value == ["always", "madvise", "never"]


def test_this_machine():
    facts = read(Host())
    assert facts["total_kib"].value >= facts["available_kib"].value > 0


# -- static huge pages --------------------------------------------------------------------------------------------

def test_host_without_static_huge_pages(tree, host):
    plant_memory(tree)
    tree.folder("/sys/kernel/mm/hugepages/hugepages-2048kB")
    assert read(host)["hugepages"] == ("ok", [], None)


def test_kernel_without_static_huge_pages(tree, host):
    tree.file("/proc/meminfo", "MemTotal: 1024 kB")
    assert read(host)["hugepages"].status == "absent"


def test_pools_of_two_sizes_by_node(tree, host):
    plant_memory(tree)
    plant_hugepages(tree, 1048576, {0: (64, 8), 1: (32, 32)}, reserved=4)
    tree.files("/sys/kernel/mm/hugepages/hugepages-2048kB", {"nr_hugepages": 0, "free_hugepages": 0,
                                                             "resv_hugepages": 0})
    assert read(host)["hugepages"].value == [
        {"kib": 1048576, "total": 96, "free": 40, "reserved": 4,
         "nodes": [{"node": "node0", "total": 64, "free": 8}, {"node": "node1", "total": 32, "free": 32}]}]


def test_kernel_that_has_no_total_of_all_sizes(tree, host):
    tree.file("/proc/meminfo", "MemTotal: 4194304 kB\nHugePages_Total:       0\nHugepagesize:       2048 kB")
    tree.files("/sys/kernel/mm/hugepages/hugepages-1048576kB", {"nr_hugepages": 2, "free_hugepages": 1,
                                                                "resv_hugepages": 0})
    assert read(host)["hugepages"].value == [{"kib": 1048576, "total": 2, "free": 1, "reserved": 0, "nodes": []}]


def test_its_sizes_may_lack_in_a_recording(tree):
    tree.file("/proc/meminfo", "MemTotal: 4194304 kB\nHugePages_Total:       0")
    tree.file("/recorded/answers.json", '{"not_recorded": {"/sys/kernel/mm": "the report does not have it"}}')
    assert read(Host(str(tree.root)))["hugepages"].status == "not_recorded"


# -- merging, ZFS, shared memory ----------------------------------------------------------------------------------

def test_merging_of_pages(tree, host):
    plant_ksm(tree, run=1, shared=120, sharing=4500, across=0)
    assert {name: reading.value for name, reading in read(host)["ksm"].items()} == {
        "run": 1, "merge_across_nodes": 0, "pages_shared": 120, "pages_sharing": 4500}


def test_kernel_without_merging(host):
    assert {reading.status for reading in read(host)["ksm"].values()} == {"absent"}


def test_cache_of_zfs(tree, host):
    plant_arc(tree, 270582939648, size=68719476736, least=16909933568, configured=0)
    assert {name: reading.value for name, reading in read(host)["arc"].items()} == {
        "limit": 270582939648, "size": 68719476736, "least": 16909933568, "configured": 0}


def test_host_without_zfs(tree, host):
    tree.file("/sys/module/zfs/parameters/zfs_arc_max", "1")      # a module that is on its way in
    assert {reading.status for reading in read(host)["arc"].values()} == {"absent"}


def test_lines_of_a_kstat():
    assert parse_arcstats("9 1 0x01 147\nname type data\nsize     4    12\nmemory_available_bytes 3 -7\nodd 4 x\n") == {
        "size": 12}


@pytest.mark.parametrize(("size", "kib"), [(None, 263882752), ("65536k", 65536), ("0k", 527765504)])
def test_size_of_dev_shm(tree, host, size, kib):
    """Half of memory is what the kernel does not print, 0 is no limit."""
    plant_memory(tree, total_kib=527765504)
    plant_shm(tree, size)
    assert read(host)["shm_kib"].value == kib


def test_the_upper_of_two_mounts_counts_and_other_words_do_not():
    mounts = ("tmpfs /dev/shm tmpfs rw,size=64k 0 0\ntmpfs /dev/shm tmpfs rw,mysize=1k,size=128k,huge=never 0 0\n"
              "tmpfs /srv/dev/shm tmpfs rw,size=1k 0 0\n")
    assert parse_shm(mounts, {"MemTotal": 4096}) == 128


@pytest.mark.parametrize("mounts", ["", "/dev/sda1 /dev/shm ext4 rw 0 0\n", "tmpfs /dev/shm\n"])
def test_without_a_mount_of_its_own_nothing_is_said(tree, host, mounts):
    tree.file("/proc/meminfo", "MemTotal: 4096 kB").file("/proc/mounts", mounts)
    assert read(host)["shm_kib"].status == "unparsable"
