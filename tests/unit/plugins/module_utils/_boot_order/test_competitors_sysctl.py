# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose sysctl is in effect after a boot. Expected by hand from man 5 sysctl.d and TuneD's plugin_sysctl.py."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot_order.competitors import competitors

from hosts.managers import plant_debian_12, plant_debian_13, plant_service, plant_systemd

KEY = "vm.swappiness"


def about(host, value="10", key=KEY):
    """`(path, line, value, wins)` of each that sets the key."""
    return [(found["path"], found["line"], found["value"], found["wins"])
            for found in competitors(host, {"sysctl": {key: value}})]


@pytest.mark.parametrize(("path", "wins"), [
    ("/etc/sysctl.d/10-a.conf", False), ("/etc/sysctl.d/90-gpuhosts.conf", True), ("/etc/sysctl.d/90-gpu.conf", False),
    ("/etc/sysctl.d/99-a.conf", True), ("/etc/sysctl.d/local.conf", True), ("/run/sysctl.d/99-a.conf", True),
    ("/usr/local/lib/sysctl.d/99-a.conf", True), ("/usr/lib/sysctl.d/99-a.conf", True),
    ("/lib/sysctl.d/99-a.conf", True), ("/usr/lib/sysctl.d/50-a.conf", False)])
def test_a_name_that_sorts_later_wins_whatever_its_folder(tree, host, path, wins):
    plant_systemd(tree)
    tree.file(path, "# first\nvm.swappiness = 60\n")
    assert about(host) == [(path, 2, "60", wins)]


@pytest.mark.parametrize("line", [
    "vm.swappiness=60", "vm/swappiness = 60", "-vm.swappiness = 60", "  vm.swappiness =60"])
def test_every_spelling_of_a_key(tree, host, line):
    plant_systemd(tree)
    tree.file("/etc/sysctl.d/99-a.conf", line)
    assert about(host) == [("/etc/sysctl.d/99-a.conf", 1, "60", True)]


def test_a_pattern_never_wins_over_a_key_in_full(tree, host):
    plant_systemd(tree)
    tree.file("/etc/sysctl.d/99-a.conf", "net.core.*_max = 1\nnet.ipv4.conf.*.rp_filter = 2\n")
    assert about(host, key="net.core.rmem_max") == [("/etc/sysctl.d/99-a.conf", 1, "1", False)]
    assert about(host, key="net.ipv4.conf.eth0/100.rp_filter") == [("/etc/sysctl.d/99-a.conf", 2, "2", False)]


def test_a_line_that_takes_the_key_out_wins_only_behind_ours(tree, host):
    plant_systemd(tree)
    tree.file("/etc/sysctl.d/10-a.conf", "-vm.swappiness\n").file("/etc/sysctl.d/99-a.conf", "-vm.swappiness\n")
    assert about(host) == [("/etc/sysctl.d/99-a.conf", 1, None, True)]


def test_the_same_value_does_not_win(tree, host):
    plant_systemd(tree)
    tree.file("/etc/sysctl.d/99-a.conf", "net.ipv4.tcp_rmem = 4096 131072\t6291456\n")
    assert about(host, "4096\t131072\t6291456", "net.ipv4.tcp_rmem")[0][3] is False
    assert about(host, "4096\t131072\t6291457", "net.ipv4.tcp_rmem")[0][3] is True


@pytest.mark.parametrize(("value", "wins"), [("16777215", True), ("16777216", False), ("33554432", False)])
def test_a_lower_bound_is_met_by_more(tree, host, value, wins):
    plant_systemd(tree)
    tree.file("/etc/sysctl.d/99-a.conf", f"net.core.rmem_max = {value}\n")
    assert about(host, {"at_least": 16777216}, "net.core.rmem_max")[0][3] is wins


def test_a_masked_file_sets_nothing(tree, host):
    plant_systemd(tree)
    tree.file("/usr/lib/sysctl.d/99-a.conf", "vm.swappiness = 60\n").link("/etc/sysctl.d/99-a.conf", "/dev/null")
    assert about(host) == []


def test_our_own_file_is_nobody_elses(tree, host):
    plant_systemd(tree)
    tree.file("/etc/sysctl.d/90-gpuhost.conf", "vm.swappiness = 60\n")
    assert about(host) == []


@pytest.mark.parametrize(("other", "value", "wins"), [
    ("vm.dirty_bytes", "1073741824", True), ("vm.dirty_bytes", "0", None), ("vm.dirty_background_bytes", "1", None)])
def test_the_same_setting_as_a_size_makes_ours_zero(tree, host, other, value, wins):
    plant_systemd(tree)
    tree.file("/etc/sysctl.d/99-a.conf", f"{other} = {value}\n")
    found = about(host, "10", "vm.dirty_ratio")
    assert found == ([] if wins is None else [("/etc/sysctl.d/99-a.conf", 1, value, wins)])


def test_a_zero_is_what_the_other_face_makes(tree, host):
    plant_systemd(tree)
    tree.file("/etc/sysctl.d/99-a.conf", "vm.dirty_bytes = 268435456\n")
    assert about(host, "0", "vm.dirty_ratio") == []


# -- /etc/sysctl.conf ---------------------------------------------------------------------------------------------

def test_debian_12_reads_sysctl_conf_by_its_link(tree, host):
    plant_debian_12(tree)
    tree.file("/etc/sysctl.conf", "vm.swappiness = 60\n")
    assert about(host) == [("/etc/sysctl.d/99-sysctl.conf", 1, "60", True)]


def test_debian_13_does_not_read_sysctl_conf(tree, host):
    plant_debian_13(tree)
    tree.file("/etc/sysctl.conf", "vm.swappiness = 60\n")
    found, = competitors(host, {"sysctl": {KEY: "10"}})
    assert (found["path"], found["wins"]) == ("/etc/sysctl.conf", False)
    assert "sysctl --system" in found["why"]


def test_without_systemd_procps_reads_it_last(tree, host):
    tree.file("/etc/sysctl.conf", "vm.swappiness = 60\n").folder("/run")
    assert about(host) == [("/etc/sysctl.conf", 1, "60", True)]


@pytest.mark.parametrize(("main", "wins"), [
    (None, True), ("reapply_sysctl = 0\n", False), ("reapply_sysctl_exclude = vm.swappiness\n", False),
    ("reapply_sysctl_exclude = vm.dirty_*; kernel.*\n", True)])
def test_tuned_sets_sysctl_conf_last(tree, host, main, wins):
    plant_debian_13(tree, "tuned")
    tree.file("/etc/sysctl.conf", "vm.swappiness = 60\n").file("/etc/tuned/active_profile", "own\n")
    tree.file("/etc/tuned/profiles/own/tuned.conf", "[main]\nsummary=none\n")
    if main:
        tree.file("/etc/tuned/tuned-main.conf", main)
    assert about(host) == [("/etc/sysctl.conf", 1, "60", wins)]


# -- before and after systemd-sysctl ----------------------------------------------------------------------------------

def test_the_command_line_comes_before(tree, host):
    plant_systemd(tree)
    tree.file("/proc/cmdline", "quiet sysctl.vm.swappiness=60 sysctl.vm/dirty_ratio=5 numa_balancing=disable")
    assert about(host) == [("/proc/cmdline", 1, "60", False)]
    assert about(host, key="vm.dirty_ratio") == [("/proc/cmdline", 1, "5", False)]
    assert about(host, "1", "kernel.numa_balancing") == [("/proc/cmdline", 1, "0", False)]


@pytest.mark.parametrize("folder", ["/run/credentials/@system", "/etc/credstore"])
def test_a_credential_comes_after_all_files(tree, host, folder):
    plant_systemd(tree)
    tree.file(f"{folder}/sysctl.extra", "vm.swappiness=60\n")
    assert about(host) == [(f"{folder}/sysctl.extra", 1, "60", True)]


def test_tmpfiles_may_come_later_than_systemd_sysctl(tree, host):
    plant_systemd(tree)
    tree.file("/etc/tmpfiles.d/a.conf", "w /proc/sys/vm/swappiness - - - - 60\n")
    assert about(host) == [("/etc/tmpfiles.d/a.conf", 1, "60", True)]


# -- TuneD --------------------------------------------------------------------------------------------------------

PROFILE = "[main]\ninclude=latency\n[sysctl]\nvm.swappiness=60 # for now\n"
INCLUDED = "[sysctl]\nvm.swappiness=1\nvm.dirty_ratio=>10\nkernel.numa_balancing=${balance}\n[variables]\nbalance=0\n"


def plant_profile(tree, main=""):
    plant_systemd(tree, "tuned")
    tree.file("/etc/tuned/active_profile", "own\n").file("/etc/tuned/tuned-main.conf", main)
    tree.file("/etc/tuned/own/tuned.conf", PROFILE).file("/usr/lib/tuned/latency/tuned.conf", INCLUDED)


@pytest.mark.parametrize(("main", "wins"), [
    ("", False), ("reapply_sysctl = 1\n", False), ("reapply_sysctl = 0\n", True),
    ("reapply_sysctl_exclude = vm.*\n", True)])
def test_sysctl_d_wins_over_a_profile_unless_tuned_is_told_otherwise(tree, host, main, wins):
    plant_profile(tree, main)
    assert about(host) == [("/etc/tuned/own/tuned.conf", 4, "60", wins)]


def test_a_variable_of_a_profile_is_looked_up_and_a_bound_is_not_a_value(tree, host):
    plant_profile(tree, "reapply_sysctl = 0\n")
    assert about(host, "0", "kernel.numa_balancing") == [("/usr/lib/tuned/latency/tuned.conf", 4, "0", False)]
    assert about(host, "10", "vm.dirty_ratio") == [("/usr/lib/tuned/latency/tuned.conf", 3, None, True)]


def test_tuned_that_is_not_enabled_does_nothing_at_boot(tree, host):
    plant_profile(tree, "reapply_sysctl = 0\n")
    (tree.root / "etc/systemd/system/multi-user.target.wants/tuned.service").unlink()
    found, = competitors(host, {"sysctl": {KEY: "10"}})
    assert (found["wins"], found["why"]) == (False, "TuneD runs now and is not enabled: at boot nothing starts it")


# -- others ---------------------------------------------------------------------------------------------------------

def test_tlp_switches_the_watchdog_off_by_default(tree, host):
    plant_systemd(tree)
    plant_service(tree, "tlp", running=False)
    tree.file("/etc/tlp.conf", "#NMI_WATCHDOG=1\n")
    assert about(host, "1", "kernel.nmi_watchdog") == [("/etc/tlp.conf", 0, "0", True)]
    tree.file("/etc/tlp.d/10-own.conf", 'NMI_WATCHDOG="1"\n')
    assert about(host, "1", "kernel.nmi_watchdog") == [("/etc/tlp.d/10-own.conf", 1, "1", False)]


def test_notes_of_saptune_come_after_systemd_sysctl(tree, host):
    plant_systemd(tree)
    plant_service(tree, "saptune", running=False)
    tree.file("/etc/sysconfig/saptune", 'NOTE_APPLY_ORDER="1410736 900929"\n')
    tree.file("/var/lib/saptune/working/notes/900929",
              "[version]\nVERSION=7\n[sysctl]\nvm.max_map_count = 2147483647\n")
    tree.file("/etc/saptune/override/1410736", "[sysctl]\nnet.ipv4.tcp_keepalive_time = 100\n")
    assert about(host, "1048576", "vm.max_map_count") == [
        ("/var/lib/saptune/working/notes/900929", 4, "2147483647", True)]
    assert about(host, "300", "net.ipv4.tcp_keepalive_time") == [("/etc/saptune/override/1410736", 2, "100", True)]


def test_a_host_without_any_of_them(host):
    assert competitors(host, {"sysctl": {KEY: "10"}, "sysfs": {"/sys/kernel/mm/ksm/run": "0"},
                              "pcie_maxreadreq": {"0000:01:00.0": 4096}, "module": {"nvidia_peermem": "present"}}) == []
