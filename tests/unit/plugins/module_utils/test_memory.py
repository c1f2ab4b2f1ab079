# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._memory import parse_swaps, read, read_thp

from hosts.memory import plant_memory, plant_swap, plant_thp

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
    assert read_thp(host) == {
        "enabled": ("ok", "madvise", None),
        "enabled_choices": ("ok", ["always", "madvise", "never"], None),
        "defrag": ("ok", "defer+madvise", None),
        "shmem_enabled": ("ok", "advise", None),
        "khugepaged_defrag": ("ok", 1, None),
        "sizes": [{"kib": 64, "enabled": ("ok", "never", None)}, {"kib": 128, "enabled": ("ok", "always", None)},
                  {"kib": 2048, "enabled": ("ok", "inherit", None)}],
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
