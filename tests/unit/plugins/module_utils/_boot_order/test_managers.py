# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of sysctl.d and services that tune. What wins was compared with systemd-sysctl's rules by hand."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot_order.managers import read
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot_order.sysctl_facts import read_sysctl_files
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot_order.sysctl_files import (
    decide,
    parse_settings,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import DENIED, Reading, as_facts
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.services import UNITS, read_services

from facts_schema import problems
from hosts.managers import plant_debian_12, plant_debian_13, plant_service, plant_systemd


def settings(tree_or_host):
    return {setting["key"]: (setting["value"], setting["file"], setting["line"])
            for setting in read_sysctl_files(tree_or_host)["settings"].value}


# -- one file -----------------------------------------------------------------------------------------------------

def test_lines_of_a_file():
    assert parse_settings("""\
# a comment
; another = one
vm.swappiness=10
  kernel/numa_balancing   =  0
-net.core.default_qdisc = fq
net.ipv4.tcp_rmem = 4096\t131072   6291456
-net.ipv4.conf.eth0/100.rp_filter
net.ipv4.conf.eth0/100.forwarding = 1
without a value

 = 1
vm.dirty_bytes =
""") == [
        (3, "vm/swappiness", "10"), (4, "kernel/numa_balancing", "0"), (5, "net/core/default_qdisc", "fq"),
        (6, "net/ipv4/tcp_rmem", "4096\t131072   6291456"), (7, "net/ipv4/conf/eth0.100/rp_filter", None),
        (8, "net/ipv4/conf/eth0.100/forwarding", "1"), (12, "vm/dirty_bytes", "")]


def test_a_later_line_wins_and_takes_the_later_place():
    assert decide([("/a", "vm.dirty_ratio = 5\nvm.swappiness = 1\n"), ("/b", "# x\nvm.dirty_ratio = 30\n")]) == [
        {"key": "vm.swappiness", "value": "1", "file": "/a", "line": 2},
        {"key": "vm.dirty_ratio", "value": "30", "file": "/b", "line": 2}]


def test_a_pattern_never_touches_a_key_that_is_named():
    assert decide([("/a", "net.core.rmem_max = 1\n"), ("/b", "net.core.*_max = 2\nnet.core.?mem_max = 3\n")]) == [
        {"key": "net.core.rmem_max", "value": "1", "file": "/a", "line": 1},
        {"key": "net.core.wmem_max", "value": "3", "file": "/b", "line": 2}]


def test_a_key_that_is_kept_off_a_pattern_is_not_set():
    assert decide([("/a", "net.core.[rw]mem_max = 2\n-net.core.wmem_max\n")]) == [
        {"key": "net.core.rmem_max", "value": "2", "file": "/a", "line": 1}]


def test_a_star_does_not_cross_a_folder():
    assert decide([("/a", "net.* = 2\n*.swappiness = 7\n")]) == [
        {"key": "vm.swappiness", "value": "7", "file": "/a", "line": 2}]


def test_keys_that_no_fact_is_about_are_left_out_unless_asked_for():
    text = "kernel.sysrq = 0\nnet.ipv4.conf.eth0/100.forwarding = 1\n"
    assert decide([("/a", text)]) == []
    assert [setting["key"] for setting in decide([("/a", text)], None)] == [
        "kernel.sysrq", "net.ipv4.conf.eth0/100.forwarding"]


# -- which files ----------------------------------------------------------------------------------------------------

def test_files_are_ordered_by_name_wherever_they_lie(tree, host):
    tree.file("/usr/lib/sysctl.d/60-a.conf", "vm.swappiness = 60\n")
    tree.file("/etc/sysctl.d/50-b.conf", "vm.swappiness = 50\n")
    tree.file("/usr/local/lib/sysctl.d/99-c.text", "vm.swappiness = 99\n")
    assert settings(host) == {"vm.swappiness": ("60", "/usr/lib/sysctl.d/60-a.conf", 1)}


def test_of_one_name_the_file_in_etc_counts_then_run_then_local(tree, host):
    for folder, value in (("/usr/lib", 4), ("/usr/local/lib", 3), ("/run", 2)):
        tree.file(f"{folder}/sysctl.d/50-x.conf", f"vm.swappiness = {value}\n")
    assert settings(host)["vm.swappiness"][0] == "2"
    tree.file("/etc/sysctl.d/50-x.conf", "vm.swappiness = 1\n")
    assert settings(host)["vm.swappiness"][0] == "1"


@pytest.mark.parametrize("mask", ["file", "link"])
def test_an_empty_file_or_a_link_to_null_takes_the_name_out(tree, host, mask):
    tree.file("/usr/lib/sysctl.d/50-x.conf", "vm.swappiness = 4\n")
    if mask == "file":
        tree.file("/etc/sysctl.d/50-x.conf", "")
    else:
        tree.link("/etc/sysctl.d/50-x.conf", "/dev/null")
    assert settings(host) == {}


def test_a_link_to_nowhere_hides_nothing(tree, host):
    tree.file("/usr/lib/sysctl.d/50-x.conf", "vm.swappiness = 4\n").link("/etc/sysctl.d/50-x.conf", "/srv/gone")
    assert settings(host) == {"vm.swappiness": ("4", "/usr/lib/sysctl.d/50-x.conf", 1)}


def test_the_link_of_debian_12_brings_in_sysctl_conf(tree, host):
    plant_debian_12(tree)
    tree.file("/etc/sysctl.conf", "#\nvm.swappiness = 5\n").file("/etc/sysctl.d/zz.conf", "vm.dirty_ratio = 3\n")
    found = read_sysctl_files(host)
    assert (found["reader"], found["ignored"].value) == ("systemd-sysctl", [])
    assert settings(host) == {"vm.swappiness": ("5", "/etc/sysctl.d/99-sysctl.conf", 2),
                              "vm.dirty_ratio": ("3", "/etc/sysctl.d/zz.conf", 1)}


def test_without_the_link_systemd_does_not_read_sysctl_conf(tree, host):
    plant_debian_13(tree)
    tree.file("/etc/sysctl.conf", "#\nvm.swappiness = 5\nkernel.sysrq=1\n")
    found = read_sysctl_files(host)
    assert found["settings"].value == []
    assert found["ignored"].value == [
        {"key": "vm.swappiness", "value": "5", "file": "/etc/sysctl.conf", "line": 2},
        {"key": "kernel.sysrq", "value": "1", "file": "/etc/sysctl.conf", "line": 3}]


def test_what_another_file_sets_alike_is_not_lost(tree, host):
    plant_debian_13(tree)
    tree.file("/etc/sysctl.conf", "kernel.sysrq=1\nvm.swappiness=5\nvm.dirty_ratio=3\n")
    tree.file("/etc/sysctl.d/own.conf", "kernel/sysrq = 1\nvm.swappiness = 6\n")
    assert [setting["key"] for setting in read_sysctl_files(host)["ignored"].value] == [
        "vm.swappiness", "vm.dirty_ratio"]


def test_without_systemd_procps_reads_sysctl_conf_last(tree, host):
    tree.file("/etc/sysctl.d/99-x.conf", "vm.swappiness = 99\n").file("/etc/sysctl.conf", "vm.swappiness = 5\n")
    tree.folder("/run")
    found = read_sysctl_files(host)
    assert (found["reader"], found["ignored"].value) == ("procps", [])
    assert settings(host) == {"vm.swappiness": ("5", "/etc/sysctl.conf", 1)}


class Secretive(Host):
    """One file is for root alone."""

    def read(self, path, *limit):
        if path == "/etc/sysctl.d/60-secret.conf":
            return Reading(DENIED, None, "EACCES (Permission denied)")
        return super().read(path, *limit)


def test_a_file_that_may_not_be_read_leaves_it_open_what_wins(tree):
    tree.file("/etc/sysctl.d/50-x.conf", "vm.swappiness = 1\n").file("/etc/sysctl.d/60-secret.conf", "")
    found = read_sysctl_files(Secretive(str(tree.root)))
    assert (found["settings"].status, found["settings"].detail) == (
        "denied", "/etc/sysctl.d/60-secret.conf is not readable: needs root")


def test_host_without_any_file(host):
    found = read_sysctl_files(host)
    assert (found["reader"], found["settings"], found["ignored"].status) == ("procps", Reading("ok", []), "absent")


def test_where_run_cannot_be_seen_nobody_knows_who_reads_sysctl_conf(tree, host):
    tree.file("/etc/sysctl.conf", "vm.swappiness = 5\n")
    assert read_sysctl_files(host)["ignored"] == Reading(
        "unparsable", None, "whether systemd is running is not known: /run is not visible")


# -- services ---------------------------------------------------------------------------------------------------------

def state(host, name):
    service, = [service for service in read_services(host) if service["service"] == name]
    return tuple(service[key] for key in ("installed", "enabled", "masked", "running"))


def test_services_in_every_state(tree, host):
    plant_systemd(tree, "tuned")
    plant_service(tree, "power-profiles-daemon", target="graphical", running=False)
    plant_service(tree, "irqbalance", enabled=False, running=False)
    plant_service(tree, "ksmtuned", enabled=False, running=False)
    tree.link("/etc/systemd/system/ksmtuned.service", "/dev/null")
    tree.file("/etc/init.d/cpufrequtils", "").link("/etc/rc2.d/S01cpufrequtils", "../init.d/cpufrequtils")
    tree.file("/etc/init.d/ondemand", "").link("/etc/rc2.d/K01ondemand", "../init.d/ondemand")
    assert state(host, "tuned") == (True, True, False, True)
    assert state(host, "power-profiles-daemon") == (True, True, False, False)
    assert state(host, "irqbalance") == (True, False, False, False)
    assert state(host, "ksmtuned") == (True, False, True, False)
    assert state(host, "cpufrequtils") == (True, True, False, False)
    assert state(host, "ondemand") == (True, False, False, False)
    assert state(host, "numad") == (False, False, False, False)


def test_units_of_a_host_whose_usr_is_not_merged(tree, host):
    tree.file("/lib/systemd/system/tlp.service", "").folder("/sys/fs/cgroup/systemd/system.slice")
    tree.folder("/sys/fs/cgroup/systemd/system.slice/tlp.service")
    assert state(host, "tlp") == (True, False, False, True)


def test_where_control_groups_are_not_seen_nobody_knows_what_runs(tree, host):
    tree.file("/usr/lib/systemd/system/tuned.service", "")
    assert state(host, "tuned") == (True, False, False, None)
    assert [service["service"] for service in read_services(host)] == list(UNITS)


def test_the_profile_of_tuned_is_read_where_tuned_is(tree, host):
    tree.file("/etc/tuned/active_profile", "virtual-host\n")
    assert read(host)["tuned_profile"].status == "absent"
    plant_systemd(tree, "tuned")
    assert read(host)["tuned_profile"].value == "virtual-host"


@pytest.mark.parametrize(("text", "reading"), [
    (None, ("ok", True)), ("daemon = 1\n", ("ok", True)), ("reapply_sysctl = 1\n", ("ok", True)),
    ("reapply_sysctl=False\n", ("ok", False)), ("reapply_sysctl = 1\nreapply_sysctl : no\n", ("ok", False)),
    ("# reapply_sysctl = 0\n", ("ok", True)), ("reapply_sysctl = perhaps\n", ("unparsable", None))])
def test_whether_tuned_sets_the_files_again(tree, host, text, reading):
    assert read(host)["tuned_reapplies"].status == "absent"
    plant_systemd(tree, "tuned")
    if text is not None:
        tree.file("/etc/tuned/tuned-main.conf", text)
    assert read(host)["tuned_reapplies"][:2] == reading


def test_this_machine_is_valid():
    assert problems("managers", as_facts(read(Host()))) == []
