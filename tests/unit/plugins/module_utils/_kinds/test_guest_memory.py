# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A guest is only moved to the NUMA nodes that most of its memory is on, and may always be moved back."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change import baseline
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import read_journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import set_values
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.guest_affinity import GuestAffinityKind

from hosts.movable import (
    CONTAINER_CONF,
    INIT_PID,
    VM_CONF,
    VM_PID,
    TreeScheduler,
    movable,
    plant_pvestatd,
    plant_stat,
)
from hosts.numa import plant_nodes
from hosts.placement import plant_group

GROUPS = {"vm:200": "/qemu.slice/200.scope", "lxc:101": "/lxc/101"}
guests = pytest.mark.parametrize("guest", GROUPS)


@pytest.fixture(autouse=True)
def node(tree):
    return movable(tree)


@pytest.fixture
def change(tree):
    def run(guest, wanted):
        host = Host(str(tree.root))
        [found] = set_values(GuestAffinityKind(host, TreeScheduler(tree)), host, {guest: wanted}, [])["changes"]
        return found
    return run


def plant_memory(tree, guest, *gib):
    plant_group(tree, GROUPS[guest], gib)


@guests
@pytest.mark.parametrize(("gib", "wanted", "reason"), [
    ((8, 0), "0-3", None),
    ((8, 0), "1", None),
    ((8, 0), "4-7", "the CPUs 4-7 are on node 1, its memory is 100 % on node 0"),
    ((8, 0), "0-4", "the CPUs 0-4 are on node 0-1, its memory is 100 % on node 0"),
    ((9, 1), "0,4", "the CPUs 0,4 are on node 0-1, its memory is 90 % on node 0, 10 % on node 1"),
    ((4, 4), "0-1", "the CPUs 0-1 are on node 0, its memory is 50 % on node 0, 50 % on node 1"),
    ((4, 4), "0,4", None),
    ((5, 3), "0,4", None),
    ((5, 3), "0-1", None),
    ((5, 3), "4-5", "the CPUs 4-5 are on node 1, its memory is 62 % on node 0, 38 % on node 1"),
])
def test_cpus_and_memory(tree, change, guest, gib, wanted, reason):
    plant_memory(tree, guest, *gib)
    found = change(guest, wanted)
    assert found["reason"] == (reason and f"{reason}: a guest is only moved to where most of its memory is")
    assert found["outcome"] == ("refused" if reason else "changed")


def test_four_nodes(tree, change):
    plant_nodes(tree, ("0-1", "2-3", "4-5", "6-7"))
    plant_memory(tree, "vm:200", 3, 3, 2, 0)
    assert change("vm:200", "0-1")["outcome"] == "refused"
    assert change("vm:200", "0-7")["outcome"] == "unchanged"
    assert change("vm:200", "1-7")["outcome"] == "refused"
    assert change("vm:200", "0-5")["outcome"] == "changed"
    assert change("vm:200", "0-3")["outcome"] == "changed"


def test_pinned_memory_has_a_reason_of_its_own(tree, change):
    tree.file(VM_CONF, "cores: 4\nhostpci0: 0000:41:00.0,pcie=1\n")
    assert change("vm:200", "4-7")["reason"] == (
        "the CPUs 4-7 are on node 1, its memory is 100 % on node 0; vfio has pinned it, so it never moves: a guest is "
        "only moved to where most of its memory is")


def test_page_cache_is_no_memory_of_the_guest(tree, change):
    plant_group(tree, GROUPS["vm:200"], (1, 0), file=(0, 50))
    assert change("vm:200", "0-3")["outcome"] == "changed"


def test_huge_pages_count(tree, change):
    tree.file(VM_CONF, "cores: 4\nhugepages: 1024\nnuma: 1\n")
    plant_group(tree, GROUPS["vm:200"], (1, 0))
    tree.file(f"/proc/{VM_PID}/numa_maps",
              "7f0000000000 bind:1 file=/dev/hugepages/a huge dirty=8 N1=8 kernelpagesize_kB=1048576\n")
    assert change("vm:200", "0-3")["outcome"] == "refused"
    assert change("vm:200", "4-7")["outcome"] == "changed"


@guests
@pytest.mark.parametrize(("text", "reason"), [
    (None, "which nodes its memory is on is unknown: ENOENT (No such file or directory)"),
    ("file N0=1 N1=2\n", "which nodes its memory is on is unknown: "),
    ("anon N0=0 N1=0\nfile N0=4096 N1=0\nshmem N0=0 N1=0\n", "the kernel counts no memory of it on any node"),
])
def test_memory_that_cannot_be_read(tree, change, guest, text, reason):
    path = f"/sys/fs/cgroup{GROUPS[guest]}/memory.numa_stat"
    if text is None:
        tree.remove(path)
    else:
        tree.file(path, text)
    found = change(guest, "0-3")
    assert found["outcome"] == "refused"
    assert found["reason"].startswith(reason)


def test_cpus_whose_node_is_unknown(tree, change):
    tree.file("/sys/devices/system/node/node0/cpulist", "0-2")
    assert change("vm:200", "0-3")["reason"] == "the NUMA node of the CPUs 3 is unknown: /sys/devices/system/node"


@guests
def test_a_snapshot_takes_the_same_process_back_and_no_other(tree, change, guest):
    before = change(guest, "0-3")["before"]
    pid = {"vm:200": VM_PID, "lxc:101": INIT_PID}[guest]
    plant_stat(tree, f"/proc/{pid}/stat", pid, 9900)
    assert change(guest, before)["outcome"] == "refused"
    plant_stat(tree, f"/proc/{pid}/stat", pid, {"vm:200": 4400, "lxc:101": 3300}[guest])
    assert change(guest, before)["outcome"] == "changed"
    assert change(guest, "0-6")["outcome"] == "refused"


@guests
def test_what_was_there_is_restored_whatever_has_happened_since(tree, change, guest):
    """0-7 spans a node without memory of the guest, which is locked by now and pvestatd's."""
    change(guest, "0-3")
    plant_pvestatd(tree).file(VM_CONF, "lock: backup").file(CONTAINER_CONF, "lock: backup")
    host = Host(str(tree.root))
    plan = baseline.plan_back(baseline.pair_lines(read_journal(host).value), "boot-1")
    [found] = set_values(GuestAffinityKind(host, TreeScheduler(tree)), host, plan.restore["guest_affinity"],
                         [])["changes"]
    assert (found["outcome"], found["after"].split()[0]) == ("changed", "0-7")
