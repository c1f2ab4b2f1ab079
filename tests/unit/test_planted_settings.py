# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The story's host with one setting of memory, kernel or network that is different: exactly that finding changes."""
from __future__ import annotations

import functools

import pytest

from hosts import memory, network, numa, processes
from hosts.managers import plant_service, plant_ubuntu_24_04
from hosts.proxmox import plant_running_vm
from hosts.story_before import story_before
from verdicts import changes, expand, judged, skipped

GIB = 1 << 30
RT = "#1 SMP PREEMPT_RT Debian 6.12.57-1 (2025-11-05)"


def plain(tree):
    story_before(tree, cores=1)


@functools.cache
def variant(change):
    """Plants the story and then that change."""
    def plant(tree):
        plain(tree)
        change(tree)
    return plant


@pytest.fixture(scope="module")
def story(facts_of):
    return judged(facts_of(plain))


def pages_of_2_mib_off(tree):
    memory.plant_thp(tree, sizes={64: "never", 2048: "never"})


def zfs_at_half(tree):
    memory.plant_arc(tree, 252 * GIB)


def zfs_as_installed(tree):
    memory.plant_arc(tree, 16 * GIB, configured=16 * GIB)


def pages_for_vms(tree):
    memory.plant_hugepages(tree, 1048576, {0: (64, 1), 1: (0, 0)})


def pages_for_nobody(tree):
    memory.plant_hugepages(tree, 2048, {0: (8192, 8192), 1: (8192, 8192)})


def pages_promised(tree):
    memory.plant_hugepages(tree, 2048, {0: (8192, 8192), 1: (8192, 8192)}, reserved=16384)


def many_dropped(tree):
    network.plant_softnet(tree, (1 << 28, 700, 0), (1 << 28, 300, 0))


def one_in_two_millions_dropped(tree):
    network.plant_softnet(tree, (1 << 30, 700, 0), (1 << 30, 300, 0))


def a_card_on_usb_with_half_duplex(tree):
    """Most servers have one that leads to their management controller."""
    folder = "/sys/devices/pci0000:e0/0000:e0:14.0/usb1/1-1/1-1:1.0/net/usb0"
    tree.files(folder, {"operstate": "up", "carrier": 1, "speed": 10, "duplex": "half", "mtu": 1500})
    tree.link("/sys/class/net/usb0", f"../..{folder.removeprefix('/sys')}")


def tuned(tree):
    """Its profile sets swappiness after a file did, and at the next boot the file again after the profile."""
    plant_service(tree, "tuned")
    tree.file("/etc/tuned/active_profile", "throughput-performance").sysctl("vm.swappiness", 10)
    tree.file("/etc/sysctl.d/50-x.conf", "vm.swappiness = 30\n")


def tuned_reads_no_file(tree):
    tuned(tree)
    tree.file("/etc/tuned/tuned-main.conf", "# A comment\ndaemon = 1\nreapply_sysctl = 0\n")


def tuned_leaves_usr_alone(tree):
    """What a package sets in /usr comes before the profile, whose word counts."""
    plant_service(tree, "tuned")
    tree.sysctl("vm.swappiness", 10).file("/usr/lib/sysctl.d/50-x.conf", "vm.swappiness = 30\n")


def saptune(tree):
    """B-24."""
    plant_service(tree, "saptune", running=False)
    plant_service(tree, "sapconf", enabled=False, running=False)


def power_profiles_not_started(tree):
    plant_service(tree, "power-profiles-daemon", enabled=False, running=False)


def files_agree(tree):
    tree.file("/etc/sysctl.d/50-x.conf", "vm.dirty_ratio = 5\n-net.ipv4.tcp_rmem = 4096 131072 6291456\n")
    tree.file("/etc/sysctl.d/60-y.conf", "vm.dirty_ratio = 20\nkernel.pid_max = 4194304\n")


def set_by_hand(tree):
    tree.file("/etc/sysctl.d/50-x.conf", "vm.dirty_ratio = 5\n")


def may_lock_8_mib(tree, capabilities=0):
    processes.plant_process(tree, 4712, "trainer", ("/dev/nvidia-uvm", "/dev/infiniband/uverbs0"))
    processes.plant_limits(tree, 4712, locked=8388608, capabilities=capabilities)


def may_lock_all(tree):
    may_lock_8_mib(tree, capabilities=1 << 14)


def serves_without_rdma(tree):
    processes.plant_process(tree, 4712, "server", ("/dev/nvidia-uvm",))
    processes.plant_limits(tree, 4712, locked=8388608)


def real_time(tree):
    tree.file("/proc/sys/kernel/version", RT)


@pytest.mark.parametrize("change, lines", [
    (pages_of_2_mib_off, {"thp_size": 'fail P1: never -> one_of ["inherit", "madvise", "always"], planned'}),
    (zfs_at_half, {"zfs_arc_max": "fail P2: 50.1 -> at_most 25"}),
    (zfs_as_installed, {"zfs_arc_max": "pass P2: 3.2"}),
    (pages_for_vms, {"hugepages_unused": "pass P2: 0.2"}),
    (pages_for_nobody, {"hugepages_unused": "fail P2: 6.4 -> at_most 1"}),
    (pages_promised, {"hugepages_unused": "pass P2: 0.0"}),
    (many_dropped, {"netdev_max_backlog": "fail P2: 1000 -> at_least 10000, planned"}),
    (one_in_two_millions_dropped, {}),
    (a_card_on_usb_with_half_duplex, {}),
    (tuned, {"other_managers": {("tuned",): "fail info: true -> false"},
             "sysctl_conf": "not_applicable P2",
             "sysctl_at_boot": {("vm.swappiness",): "fail P2: 30 -> 10"}}),
    (tuned_reads_no_file, {"other_managers": {("tuned",): "fail info: true -> false"}}),
    (tuned_leaves_usr_alone, {"other_managers": {("tuned",): "fail info: true -> false"},
                              "sysctl_conf": "not_applicable P2"}),
    (saptune, {"other_managers": {("saptune",): "fail info: true -> false", ("sapconf",): "pass info: false"}}),
    (power_profiles_not_started, {"other_managers": {("power-profiles-daemon",): "pass info: false"}}),
    (files_agree, {"sysctl_at_boot": {("net.ipv4.tcp_rmem",): "pass P2: 4096 131072 6291456",
                                      ("vm.dirty_ratio",): "pass P2: 20"}}),
    (set_by_hand, {"sysctl_at_boot": {("vm.dirty_ratio",): "fail P2: 5 -> 20"}}),
    (plant_ubuntu_24_04, {"max_map_count": "pass info: 1048576",
                          "sysctl_at_boot": {("vm.max_map_count",): "pass P2: 1048576"}}),
    (may_lock_8_mib, {"memlock": {("process 4712",): "fail P1: 8388608 -> null"}}),
    (may_lock_all, {}),
    (serves_without_rdma, {}),
    (real_time, {"kernel_preemption": "fail P1: true -> false"}),
], ids=lambda value: getattr(value, "__name__", ""))
def test_only_that_setting_changes(facts_of, story, change, lines):
    found = {pair: message for pair, message in changes(story, judged(facts_of(variant(change)))).items()
             if message is not None}
    assert found == expand(lines)


def test_b24_saptune_sets_what_a_tune_sets(facts_of):
    """B-24: it was enabled, and "no other tuning service is installed" was said of the host."""
    found = judged(facts_of(variant(saptune)))
    assert found["other_managers", "saptune"]["reason"] == (
        "saptune is enabled at boot: it sets sysctls, huge pages, governors and the energy preference according to "
        "its notes and solution")
    assert found["other_managers", "sapconf"]["verdict"] == "pass"


def test_settings_in_words(facts_of):
    def message(change, check, subject=None):
        return judged(facts_of(variant(change)))[check, subject]["reason"]

    assert message(zfs_at_half, "zfs_arc_max") == "the ZFS ARC may use 50.1 percent of 503 GiB (zfs_arc_max is 0)"
    assert message(pages_for_nobody, "hugepages_unused") == (
        "16384 of 16384 pages of 2048 KiB are free: 32768 MiB that nothing else can use")
    assert message(tuned, "other_managers", "tuned") == (
        "tuned runs with the profile throughput-performance: it sets governors, huge pages and other sysfs files "
        "according to its profile, and sysctls that no file in /etc/sysctl.d sets")
    assert message(tuned, "sysctl_conf") == "tuned is running and applies /etc/sysctl.conf (reapply_sysctl)"
    assert message(tuned_reads_no_file, "other_managers", "tuned") == (
        "tuned runs with the profile throughput-performance: it sets governors, sysctls and huge pages according to "
        "its profile")
    assert message(tuned_reads_no_file, "sysctl_at_boot") == "tuned is running, and its profile sets the values"
    assert message(set_by_hand, "sysctl_at_boot", "vm.dirty_ratio") == (
        "/etc/sysctl.d/50-x.conf, line 1, sets 5 at boot; the running value is 20")
    assert message(real_time, "kernel_preemption") == f"PREEMPT_RT kernel: {RT}"


# -- merging of pages: whether it may be stopped depends on who is there ------------------------------------------

def merging(tree, *, daemon=False, vm=False):
    story_before(tree, cores=1, vms={"200": "name: desk\nmemory: 8192\n"})
    memory.plant_ksm(tree, run=1, shared=100, sharing=81920)
    if not daemon:
        tree.remove("/sys/fs/cgroup/system.slice/ksmtuned.service/cgroup.procs")
        tree.path("/sys/fs/cgroup/system.slice/ksmtuned.service").rmdir()
    if vm:
        plant_running_vm(tree, "200")


def merging_alone(tree):
    merging(tree)


def merging_by_the_daemon(tree):
    merging(tree, daemon=True)


def merging_for_a_vm(tree):
    merging(tree, vm=True)


@pytest.mark.parametrize("plant, because", [
    (merging_alone, None),
    (merging_by_the_daemon,
     "ksmtuned is running and would start it again; stop it first (systemctl disable --now ksmtuned)"),
    (merging_for_a_vm, "VMs are running (200): without merging they may need more memory than the host has")])
def test_merging_is_stopped_only_where_nobody_needs_it(facts_of, plant, because):
    facts = facts_of(plant)
    finding = judged(facts, "full")["ksm", None]
    assert (finding["verdict"], finding["reason"]) == ("fail", "on; 81920 pages saved so far")
    assert (finding["fix"]["planned"], finding["fix"]["not_planned_because"]) == (because is None, because)
    assert "it is contested" in skipped(facts, judged(facts), "sysfs")["/sys/kernel/mm/ksm/run"]


# -- other hosts ------------------------------------------------------------------------------------------------------

def small_memory_with_a_large_reserve(tree):
    plain(tree)
    memory.plant_memory(tree, total_kib=64 * numa.GIB, available_kib=8 * numa.GIB)
    tree.sysctl("vm.min_free_kbytes", 4 * numa.GIB)


def test_a_reserve_copied_from_a_larger_host(facts_of):
    finding = judged(facts_of(small_memory_with_a_large_reserve))["min_free_kbytes", None]
    assert (finding["verdict"], finding["reason"]) == ("fail", "4194304 KiB are 6.2 percent of memory")
