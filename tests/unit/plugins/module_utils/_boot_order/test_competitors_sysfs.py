# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who else writes an attribute of sysfs, MaxReadReq or a module at boot. Expected by hand from each program's files."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot_order.competitors import competitors

from hosts.managers import plant_service, plant_systemd

POLICIES = "/sys/devices/system/cpu/cpufreq"
GOVERNOR = f"{POLICIES}/policy0/scaling_governor"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
KSM = "/sys/kernel/mm/ksm/run"


@pytest.fixture
def here(tree, host):
    """A host that systemd runs, with one frequency policy that two CPUs lead to."""
    plant_systemd(tree)
    tree.file(GOVERNOR, "powersave\n").file(f"{POLICIES}/policy0/scaling_available_governors", "performance powersave")
    for cpu in (0, 1):
        tree.link(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq", "../cpufreq/policy0")
    return host


def about(host, path, value="performance", kind="sysfs"):
    return [(found["path"], found["line"], found["value"], found["wins"])
            for found in competitors(host, {kind: {path: value}})]


def unit(tree, name, text, target="multi-user.target.wants"):
    tree.file(f"/etc/systemd/system/{name}", text)
    tree.link(f"/etc/systemd/system/{target}/{name}", f"/etc/systemd/system/{name}")


# -- tmpfiles.d, sysfsutils, udev -------------------------------------------------------------------------------------

@pytest.mark.parametrize(("line", "found"), [
    ("w /sys/kernel/mm/transparent_hugepage/enabled - - - - always", "always"),
    ("w! /sys/kernel/mm/transparent_hugepage/enabled - - - - always\\n", "always"),
    ('w+ /sys/kernel/mm/transparent_hugepage/ena* - - - - "always"', "always"),
    ("f /sys/kernel/mm/transparent_hugepage/enabled - - - - always", None),
    ("#w /sys/kernel/mm/transparent_hugepage/enabled - - - - always", None)])
def test_tmpfiles_come_before_ours(tree, here, line, found):
    tree.file(THP, "always [madvise] never").file("/etc/tmpfiles.d/a.conf", f"# THP\n{line}\n")
    assert about(here, THP, "madvise") == ([] if found is None else [("/etc/tmpfiles.d/a.conf", 2, found, False)])


def test_of_two_lines_of_tmpfiles_the_first_name_counts(tree, here):
    tree.file("/etc/tmpfiles.d/a.conf", f"w {THP} - - - - always\n")
    tree.file("/usr/lib/tmpfiles.d/b.conf", f"w {THP} - - - - never\n")
    assert about(here, THP, "madvise") == [("/etc/tmpfiles.d/a.conf", 1, "always", False)]


@pytest.mark.parametrize(("enabled", "wins"), [(True, True), (False, False)])
def test_sysfsutils_counts_where_its_service_is_enabled(tree, here, enabled, wins):
    plant_service(tree, "sysfsutils", enabled=enabled, running=False)
    tree.file("/etc/sysfs.conf", "# x = y\ndevices/system/cpu/cpu0/cpufreq/scaling_governor = powersave # laptop\n")
    tree.file("/etc/sysfs.d/ksm.conf", "kernel/mm/ksm/run=1\n")
    assert about(here, GOVERNOR) == [("/etc/sysfs.conf", 2, "powersave", wins)]
    assert about(here, KSM, "0") == [("/etc/sysfs.d/ksm.conf", 1, "1", wins)]


@pytest.mark.parametrize(("rule", "path", "value"), [
    ('SUBSYSTEM=="cpu", ACTION=="add", ATTR{cpufreq/scaling_governor}="powersave"', GOVERNOR, "powersave"),
    ('SUBSYSTEM=="cpu", \\\n  ATTR{cpufreq/scaling_governor}="$env{GOV}"', GOVERNOR, None),
    ('KERNEL=="policy*", ATTR{scaling_governor}="powersave"', GOVERNOR, "powersave"),
    ('SUBSYSTEM=="cpu", RUN+="/bin/sh -c \'echo powersave > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\'"',
     GOVERNOR, "powersave")])
def test_a_rule_of_udev_may_come_later(tree, here, rule, path, value):
    tree.file("/etc/udev/rules.d/50-a.rules", f"# a rule\n{rule}\n")
    assert about(here, path) == [("/etc/udev/rules.d/50-a.rules", 2, value, True)]


@pytest.mark.parametrize("rule", [
    'SUBSYSTEM=="cpu", ATTR{cpufreq/scaling_governor}=="powersave", TAG+="x"',
    'SUBSYSTEM=="pci", ATTR{power/control}="auto"', 'KERNEL=="sd*", ATTR{queue/scheduler}="none"'])
def test_a_rule_that_only_looks_or_is_about_another_device_is_none(tree, here, rule):
    tree.file("/etc/udev/rules.d/50-a.rules", f"{rule}\n")
    assert about(here, GOVERNOR) == []


def test_our_own_rule_and_unit_are_nobody_elses(tree, here):
    tree.file("/etc/udev/rules.d/90-gpuhost.rules", 'SUBSYSTEM=="cpu", ATTR{cpufreq/scaling_governor}="powersave"\n')
    unit(tree, "gpuhost-boot.service", f"[Service]\nExecStart=/bin/sh -c 'echo powersave > {GOVERNOR}'\n")
    assert about(here, GOVERNOR) == []


# -- services and their files -----------------------------------------------------------------------------------------

@pytest.mark.parametrize(("service", "file", "text", "line", "value"), [
    ("tlp", "/etc/tlp.conf", "A=1\nCPU_SCALING_GOVERNOR_ON_AC=powersave\n", 2, "powersave"),
    ("cpufrequtils", "/etc/default/cpufrequtils", 'ENABLE="true"\nGOVERNOR="ondemand"\n', 2, "ondemand"),
    ("cpupower", "/etc/cpupower-service.conf", "#GOVERNOR='ondemand'\nGOVERNOR='powersave'\n", 2, "powersave"),
    ("cpupower", "/etc/sysconfig/cpupower", 'CPUPOWER_START_OPTS="frequency-set -g powersave"\n', 1, "powersave"),
    ("power-profiles-daemon", "/var/lib/power-profiles-daemon/state.ini", "", 0, None)])
def test_services_that_set_frequencies(tree, here, service, file, text, line, value):
    plant_service(tree, service, running=False)
    tree.file(file, text).file(f"{POLICIES}/policy0/energy_performance_preference", "performance")
    path = f"{POLICIES}/policy0/energy_performance_preference" if value is None else GOVERNOR
    assert about(here, path) == [(file, line, value, True)]
    tree.link(f"/etc/systemd/system/{service}.service", "/dev/null")
    assert about(here, path) == []


def test_cpufrequtils_sets_ondemand_unless_told_otherwise(tree, here):
    plant_service(tree, "cpufrequtils", running=False)
    assert about(here, GOVERNOR) == [("/etc/default/cpufrequtils", 0, "ondemand", True)]
    tree.file("/etc/default/cpufrequtils", "ENABLE=false\n")
    assert about(here, GOVERNOR) == []


def test_ksmtuned_starts_merging(tree, here):
    plant_service(tree, "ksmtuned")
    assert about(here, KSM, "0") == [("/etc/ksmtuned.conf", 0, None, True)]


def test_tlp_sets_boost_and_its_intel_face(tree, here):
    plant_service(tree, "tlp", running=False)
    tree.file("/etc/tlp.conf", "CPU_BOOST_ON_AC=0\n")
    assert about(here, f"{POLICIES}/boost", "1") == [("/etc/tlp.conf", 1, "0", True)]
    assert about(here, "/sys/devices/system/cpu/intel_pstate/no_turbo", "0") == [("/etc/tlp.conf", 1, "1", True)]


# -- TuneD and saptune ------------------------------------------------------------------------------------------------

def test_what_a_profile_of_tuned_writes_to_sysfs_wins(tree, here):
    plant_service(tree, "tuned")
    tree.file("/etc/tuned/active_profile", "virtual-host\n")
    tree.file("/usr/lib/tuned/profiles/virtual-host/tuned.conf",
              "[main]\ninclude=base\n[vm]\ntransparent_hugepages=always\n[sysfs]\n/sys/kernel/mm/ksm/*=1\n")
    tree.file("/usr/lib/tuned/profiles/base/tuned.conf", "[cpu]\ngovernor=schedutil|powersave\n[vm]\nreplace=1\n")
    assert about(here, THP, "madvise") == [("/usr/lib/tuned/profiles/virtual-host/tuned.conf", 4, "always", True)]
    assert about(here, KSM, "0") == [("/usr/lib/tuned/profiles/virtual-host/tuned.conf", 6, "1", True)]
    assert about(here, GOVERNOR) == [("/usr/lib/tuned/profiles/base/tuned.conf", 2, "powersave", True)]


def test_a_profile_may_drop_and_replace_what_it_includes(tree, here):
    plant_service(tree, "tuned")
    tree.file("/etc/tuned/active_profile", "own\n")
    tree.file("/etc/tuned/profiles/own/tuned.conf", "[main]\ninclude=own\n[cpu]\ndrop=governor\n[vm]\nreplace=1\n")
    tree.file("/usr/lib/tuned/profiles/own/tuned.conf", "[cpu]\ngovernor=powersave\n[vm]\ntransparent_hugepage=never\n")
    assert about(here, GOVERNOR) == []
    assert about(here, THP, "madvise") == []


def test_a_section_for_another_machine_and_a_disabled_one_do_nothing(tree, here):
    plant_service(tree, "tuned")
    tree.file("/etc/tuned/active_profile", "own\n").file("/proc/cpuinfo", "model name\t: AMD EPYC 9554\n")
    tree.file("/etc/tuned/own/tuned.conf", "[vm.arm]\ntype=vm\nuname_regex=aarch64\ntransparent_hugepages=never\n"
              "[cpu]\nenabled=0\ngovernor=powersave\n"
              "[sysfs.amd]\ntype=sysfs\ncpuinfo_regex=AMD\n/sys/kernel/mm/ksm/run=1\n")
    assert about(here, THP, "madvise") == []
    assert about(here, GOVERNOR) == []
    assert about(here, KSM, "0") == [("/etc/tuned/own/tuned.conf", 11, "1", True)]


def test_a_script_of_a_profile_is_read(tree, here):
    plant_service(tree, "tuned")
    tree.file("/etc/tuned/active_profile", "own\n").file("/etc/tuned/own/tuned.conf", "[script]\nscript=own.sh\n")
    tree.file("/etc/tuned/own/own.sh", f"#!/bin/sh\necho never > {THP}\n")
    assert about(here, THP, "madvise") == [("/etc/tuned/own/own.sh", 2, "never", True)]


@pytest.mark.parametrize(("main", "system", "winner"), [
    ("", None, "/etc/tuned/own"), ("", "/usr/lib/tuned/profiles", "/etc/tuned/profiles/own"),
    ("profile_dirs = /srv/first,/srv/last/\n", "/usr/lib/tuned/profiles", "/srv/last/own"),
    ("# profile_dirs = /srv/last\n", "/usr/lib/tuned/profiles", "/etc/tuned/profiles/own")])
def test_where_tuned_looks_for_a_profile(tree, here, main, system, winner):
    plant_service(tree, "tuned")
    tree.file("/etc/tuned/active_profile", "own\n").file("/etc/tuned/tuned-main.conf", main)
    folders = ["/etc/tuned", "/srv/first", "/srv/last"]
    if system:      # 2.23 and newer
        tree.folder(system)
        folders.append("/etc/tuned/profiles")
    for folder in folders:
        tree.file(f"{folder}/own/tuned.conf", "[vm]\ntransparent_hugepages=always\n")
    assert about(here, THP, "madvise") == [(f"{winner}/tuned.conf", 2, "always", True)]


def test_tuned_without_a_profile_will_choose_one(tree, here):
    plant_service(tree, "tuned")
    assert about(here, GOVERNOR) == [("/etc/tuned/active_profile", 0, None, True)]


def test_a_note_of_saptune_sets_huge_pages(tree, here):
    plant_service(tree, "saptune", running=False)
    tree.file("/etc/sysconfig/saptune", 'NOTE_APPLY_ORDER="2684254"\n')
    tree.file("/var/lib/saptune/working/notes/2684254.conf",
              "[vm]\nTHP=never\nKSM=0\n[cpu:os=15.*]\ngovernor=performance\n")
    assert about(here, THP, "madvise") == [("/var/lib/saptune/working/notes/2684254.conf", 2, "never", True)]
    assert about(here, KSM, "0") == [("/var/lib/saptune/working/notes/2684254.conf", 3, "0", False)]
    tree.file("/etc/saptune/override/2684254", "[vm]\nTHP=\n")
    assert about(here, THP, "madvise") == [("/etc/saptune/override/2684254", 2, None, False)]


# -- units, rc.local, cron, ifupdown ----------------------------------------------------------------------------------

WRITES = f"[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo never > {THP}'\n"


@pytest.mark.parametrize(("target", "wins"), [
    ("multi-user.target.wants", True), ("docker.service.requires", True), ("sysinit.target.wants", False)])
def test_a_unit_comes_before_ours_only_where_its_target_does(tree, here, target, wins):
    unit(tree, "thp.service", WRITES, target)
    assert about(here, THP, "madvise") == [("/etc/systemd/system/thp.service", 3, "never", wins)]


def test_a_unit_may_say_itself_that_it_comes_before(tree, here):
    unit(tree, "thp.service", "[Unit]\nBefore=a.service gpuhost-boot.service\n" + WRITES)
    assert about(here, THP, "madvise") == [("/etc/systemd/system/thp.service", 5, "never", False)]


def test_a_unit_that_nothing_starts_or_that_is_masked_is_none(tree, here):
    tree.file("/etc/systemd/system/thp.service", WRITES)
    tree.file("/usr/lib/systemd/system/ksm.service", f"[Service]\nExecStart=/bin/sh -c 'echo 1 > {KSM}'\n")
    tree.link("/etc/systemd/system/multi-user.target.wants/ksm.service", "/usr/lib/systemd/system/ksm.service")
    assert about(here, THP, "madvise") == []
    assert about(here, KSM, "0") == [("/usr/lib/systemd/system/ksm.service", 2, "1", True)]
    tree.link("/etc/systemd/system/ksm.service", "/dev/null")
    assert about(here, KSM, "0") == []


def test_a_drop_in_of_a_unit_and_the_script_that_it_starts_are_read(tree, here):
    unit(tree, "own@a.timer", "[Timer]\nOnBootSec=1\n")
    tree.file("/etc/systemd/system/own@.service", "[Service]\nExecStart=/usr/local/sbin/tune --all\n")
    tree.file("/etc/systemd/system/own@a.service.d/more.conf",
              f"[Service]\nExecStartPost=-/bin/sh -c 'echo 1 > {KSM}'\n")
    tree.file("/usr/local/sbin/tune",
              "#!/bin/bash\nfor g in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do\n"
              "  echo powersave > \"$g\"\ndone\n")
    assert about(here, KSM, "0") == [("/etc/systemd/system/own@a.service.d/more.conf", 2, "1", True)]
    assert about(here, GOVERNOR) == [("/usr/local/sbin/tune", 3, "powersave", True)]


def test_rc_local_counts_where_it_may_be_run(tree, here):
    tree.file("/etc/rc.local", f"#!/bin/sh\n# echo always > {THP}\necho never | tee {THP}\n")
    (tree.root / "etc/rc.local").chmod(0o644)
    assert about(here, THP, "madvise") == []
    (tree.root / "etc/rc.local").chmod(0o755)
    assert about(here, THP, "madvise") == [("/etc/rc.local", 3, "never", True)]


def test_jobs_of_cron_at_boot(tree, here):
    tree.file("/etc/cron.d/own", f"@reboot root echo never > {THP}\n0 5 * * * root echo 1 > {KSM}\n")
    tree.file("/var/spool/cron/crontabs/root", "@reboot cpupower frequency-set -g powersave\n")
    assert about(here, THP, "madvise") == [("/etc/cron.d/own", 1, "never", True)]
    assert about(here, KSM, "0") == []
    assert about(here, GOVERNOR) == [("/var/spool/cron/crontabs/root", 1, "powersave", True)]


def test_ifupdown_sets_sysctls_when_an_interface_comes_up(tree, here):
    tree.file("/etc/network/interfaces", "auto vmbr0\niface vmbr0 inet static\n"
              "\tpost-up echo 1 > /proc/sys/net/core/busy_poll\n\tup sysctl -w net.core.somaxconn=128\n")
    assert about(here, "net.core.busy_poll", "50", "sysctl") == [("/etc/network/interfaces", 3, "1", True)]
    assert about(here, "net.core.somaxconn", "4096", "sysctl") == [("/etc/network/interfaces", 4, "128", True)]


@pytest.mark.parametrize(("command", "file"), [
    ("sysctl -p", "/etc/sysctl.conf"), ("sysctl --system", "/etc/sysctl.conf"),
    ("/sbin/sysctl -qp /etc/own", "/etc/own")])
def test_a_script_that_loads_a_file_of_sysctls(tree, here, command, file):
    tree.file(file, "vm.swappiness = 60\n").file("/etc/rc.local", f"#!/bin/sh\n{command}\n")
    (tree.root / "etc/rc.local").chmod(0o755)
    assert ("/etc/rc.local", 2, "60", True) in about(here, "vm.swappiness", "10", "sysctl")


# -- the command line, MaxReadReq, modules ----------------------------------------------------------------------------

def test_the_command_line_comes_before_ours(tree, here):
    tree.file("/proc/cmdline", "transparent_hugepage=never cpufreq.default_governor=powersave")
    assert about(here, THP, "madvise") == [("/proc/cmdline", 1, "never", False)]
    assert about(here, GOVERNOR) == [("/proc/cmdline", 1, "powersave", False)]


@pytest.mark.parametrize(("arguments", "value", "matches"), [
    ("-s 41:00.0 CAP_EXP+8.w=2000:7000", "512", True), ("-s 0000:41:00.0 CAP_EXP+0x8.W=5936", "4096", True),
    ("-d 10de: CAP_EXP+08.w=0000:7000", "128", True), ("-s 42:00.0 CAP_EXP+8.w=2000:7000", None, False),
    ("-s 41:00.0 CAP_EXP+8.w=0010:0010", None, False), ("-s 41:00.0 CAP_EXP+10.w=2000", None, False),
    ("-s 41:00.0 CAP_EXP+8.w", None, False)])
def test_setpci_in_a_unit(tree, here, arguments, value, matches):
    unit(tree, "mrrs.service", f"[Service]\nExecStart=/usr/bin/setpci {arguments}\n")
    found = about(here, "0000:41:00.0", 4096, "pcie_maxreadreq")
    assert found == ([("/etc/systemd/system/mrrs.service", 2, value, value != "4096")] if matches else [])


@pytest.mark.parametrize(("file", "text", "value", "wins"), [
    ("/etc/modprobe.d/a.conf", "install nvidia-peermem /bin/true\n", None, True),
    ("/etc/modprobe.d/a.conf", "blacklist nvidia_peermem\n", "absent", False),
    ("/etc/modules-load.d/a.conf", "# helpers\nnvidia-peermem\n", "present", False),
    ("/proc/cmdline", "module_blacklist=nouveau,nvidia-peermem", "absent", True)])
def test_modules(tree, here, file, text, value, wins):
    tree.file(file, text)
    (_path, _line, found, won), = about(here, "nvidia_peermem", "present", "module")
    assert (found, won) == (value, wins)
