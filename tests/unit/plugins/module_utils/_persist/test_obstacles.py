# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where nothing is written: each host says why, and is byte for byte what it was."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import BadValues
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist import interpreter
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist.folders import InTheWay
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist.obstacles import (
    Obstacle,
    has_systemd,
    parse_mounts,
    why_volatile,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist.paths import (
    ENABLED,
    LEDGER,
    PROGRAM,
    RULE,
    SYSCTLS,
    UNIT,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist.persist import Refusal, persist, remove

from checkout import REPOSITORY
from hosts.persisting import GPUS, THP, VALUES, persisting, snapshot
from requirement import need


@pytest.fixture
def planted(tree):
    return persisting(tree)


def make(tree, values=None, **options):
    return persist(Host(str(tree.root)), VALUES if values is None else values, run_id="r", **options)


def refused(tree, error, match, values=None, **options):
    """Nothing is written, in check mode as without it."""
    before = snapshot(tree)
    for check in (True, False):
        with pytest.raises(error, match=match) as told:
            make(tree, values, check_mode=check, **options)
        assert snapshot(tree) == before
    return str(told.value)


def test_a_container(planted):
    planted.file("/proc/1/environ", "container=lxc\0TERM=linux\0")
    refused(planted, Obstacle, r"this is a container \(.*container=lxc\): what is persisted belongs on its host")


@pytest.mark.parametrize(("mounts", "match"), [
    ("22 1 0:21 / / rw - ext4 /dev/sda1 rw\n30 22 0:30 / /etc rw - tmpfs tmpfs rw\n",
     r"/etc/\S+ is in memory \(tmpfs at /etc\): what is written there does not last"),
    ("22 1 0:21 / / rw - overlay overlay rw,lowerdir=/ro,upperdir=/run/live/rw,workdir=/run/live/work\n"
     "23 22 0:22 / /run rw - tmpfs tmpfs rw\n", "is an overlay whose upper layer /run/live/rw is in memory"),
    ("22 1 0:21 / / rw - overlay overlay rw,lowerdir=/ro,upperdir=/cow/rw,workdir=/cow/work\n",
     "whose upper layer /cow/rw cannot be seen, so whether it lasts cannot be told"),
    ("22 1 0:21 / / rw - ext4 /dev/sda1 rw\n30 22 0:30 / /var rw - tmpfs tmpfs rw\n", "/var/lib/gpuhost is in memory"),
])
def test_files_that_do_not_last(planted, mounts, match):
    planted.file("/proc/self/mountinfo", mounts)
    refused(planted, Obstacle, match)


def test_an_overlay_on_a_disk_lasts(planted):
    planted.file("/proc/self/mountinfo",
                 "22 1 0:21 / / rw - overlay overlay rw,lowerdir=/ro,upperdir=/overlay/upper,workdir=/overlay/work\n"
                 "23 22 0:22 / /overlay rw - ext4 /dev/mmcblk0p3 rw\n")
    assert make(planted).changed


def test_the_mount_that_counts_is_the_nearest_and_the_last():
    mounts = parse_mounts("1 0 0:1 / / rw - tmpfs t rw\n2 1 0:2 / /etc rw - ext4 d rw\n"
                          "3 1 0:3 / /a\\040b rw shared:1 - tmpfs t rw\n4 2 0:4 / /etc rw - ramfs t rw\n")
    assert why_volatile("/etc/sysctl.d", mounts) == "is in memory (ramfs at /etc)"
    assert why_volatile("/a b/c", mounts) == "is in memory (tmpfs at /a b)"
    assert why_volatile("/etcetera", mounts) == "is in memory (tmpfs at /)"
    assert why_volatile("/etc", []) is None


READ_ONLY = """
import sys
sys.path.insert(0, sys.argv[2])
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist.obstacles import Obstacle
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist.persist import persist, remove
for call, *values in ((persist, {"sysctl": {"vm.swappiness": 11}}), (remove,)):
    try:
        call(Host(sys.argv[1]), *values, run_id="r")
    except Obstacle as why:
        print(why)
"""


def test_etc_that_is_read_only(planted):
    need(os.geteuid() == 0 and shutil.which("unshare"), "root and unshare, which mount a folder read-only")
    script = (f"mount --bind {planted.root}/etc {planted.root}/etc && mount -o remount,ro,bind {planted.root}/etc && "
              f"exec {sys.executable} -c '{READ_ONLY}' {planted.root} {REPOSITORY}/.ansible/collections")
    persist(Host(str(planted.root)), {"sysctl": {"vm.swappiness": 10}}, run_id="r")
    before = snapshot(planted)
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=True)
    assert [line.partition(",")[0] for line in done.stdout.splitlines()] == [
        "/etc/sysctl.d is on a read-only file system: make it writable"] * 2
    assert snapshot(planted) == before


def test_nixos_where_a_folder_is_a_link_into_the_store(planted):
    shutil.rmtree(planted.path("/etc/systemd/system"))
    planted.link("/etc/systemd/system", "/etc/static/systemd/system").folder("/etc/static/systemd/system")
    said = refused(planted, InTheWay, "/etc/systemd/system is a link to /etc/static/systemd/system, a store that NixOS")
    assert said.endswith("set it in its configuration; links are never followed")


def test_a_folder_that_is_a_link_of_any_kind(planted):
    planted.path("/etc/sysctl.d").rmdir()
    planted.link("/etc/sysctl.d", "../srv/sysctl.d").folder("/srv/sysctl.d")
    refused(planted, InTheWay, r"/etc/sysctl\.d is a link to \.\./srv/sysctl\.d; links are never followed")


@pytest.mark.parametrize("path", [SYSCTLS, UNIT, ENABLED, RULE, PROGRAM])
def test_a_link_in_the_way_is_not_followed(planted, path):
    planted.file("/srv/theirs", "keep me")
    planted.link(path, "/srv/theirs")
    refused(planted, Refusal, f"{path} is a link: nothing was written")
    assert planted.path("/srv/theirs").read_text() == "keep me\n"


def test_a_link_that_is_put_there_after_it_was_looked_at_is_replaced_and_not_followed(planted, monkeypatch):
    from ansible_collections.gpuhost.tuning.plugins.module_utils._persist import persist as room

    planted.file("/srv/theirs", "keep me")
    write = room._write

    def write_late(*given):
        planted.link(SYSCTLS, "/srv/theirs")
        write(*given)
    monkeypatch.setattr(room, "_write", write_late)
    make(planted)
    assert planted.path("/srv/theirs").read_text() == "keep me\n"
    assert not planted.path(SYSCTLS).is_symlink()


@pytest.mark.parametrize("path", [SYSCTLS, UNIT, RULE])
def test_a_foreign_file_under_our_name(planted, path):
    planted.file(path, "# somebody's")
    refused(planted, Refusal, f"{path} was not written by gpuhost.tuning: nothing was written; move it away")
    before = snapshot(planted)
    assert not remove(Host(str(planted.root)), run_id="r").changed
    assert snapshot(planted) == before


def test_a_folder_and_a_device_in_the_place_of_a_file(planted):
    planted.folder(UNIT)
    refused(planted, InTheWay, f"{UNIT} is not a regular file")


def test_a_ledger_that_is_none(planted):
    planted.file(LEDGER, "{}")
    said = refused(planted, Obstacle, f"{LEDGER} is not what this collection writes there")
    assert "remove them by hand" in said
    with pytest.raises(Obstacle):
        remove(Host(str(planted.root)), run_id="r")


def test_who_would_win_is_named_with_path_line_and_both_values(planted):
    planted.file("/etc/sysctl.d/99-site.conf", "# site\n\nvm.swappiness = 35\n")
    with pytest.raises(Refusal) as told:
        make(planted)
    assert "sysctl:vm.swappiness: /etc/sysctl.d/99-site.conf line 3 sets vm.swappiness = 35, wanted 10: " in \
        str(told.value)
    assert [(one["path"], one["line"]) for one in told.value.conflicts] == [("/etc/sysctl.d/99-site.conf", 3)]
    assert not planted.path(LEDGER).exists()
    done = make(planted, override=["sysctl:vm.swappiness"])
    assert "vm.swappiness" not in planted.path(SYSCTLS).read_text()
    assert done.ledger["left_out"] == [{"address": "sysctl:vm.swappiness",
                                        "reason": "left out by gpuhost_persist_override"}]


def test_what_we_persisted_ourselves_is_no_conflict(planted):
    make(planted)
    done = make(planted, {"sysctl": {"vm.swappiness": 20}})
    assert done.changed
    assert planted.path(SYSCTLS).read_text().endswith("\n\nvm.swappiness = 20\n")
    assert not planted.path(PROGRAM).parent.exists()


def test_an_address_to_leave_out_that_is_not_wanted(planted):
    refused(planted, Refusal, "sysctl:vm.laptop_mode is to be left out, and is not among the values",
            override=["sysctl:vm.laptop_mode"])


@pytest.mark.parametrize(("values", "match"), [
    ({"sysctl": {"kernel.modules_disabled": 1}}, "sysctl:kernel.modules_disabled: .*never written"),
    ({"sysctl": {"vm.swappiness": 500}}, "sysctl:vm.swappiness: EINVAL"),
    ({"sysfs": {"/sys/bus/pci/rescan": 1}}, "sysfs:/sys/bus/pci/rescan: "),
    ({"pcie_maxreadreq": {"0000:99:00.0": 4096}}, "pcie_maxreadreq:0000:99:00.0: absent"),
    ({"pcie_maxreadreq": {GPUS[0]: 4000}}, "4000 is none of 128, 256"),
    ({"sysfs": {THP: "sometimes"}}, "is none of always, madvise, never"),
    ({"guest_affinity": {"vm:200": "0-3"}, "sysctl": {"vm.swappiness": 10}},
     "guest_affinity:vm:200: the CPUs of a running guest end with it and are not persisted; at each start it gets them "
     "by qm set 200 --affinity 0-3"),
    ({"nonsense": {"a": 1}}, "nonsense: wanted is a mapping of values below one of sysctl, "),
])
def test_what_a_setter_refuses_is_refused_with_its_words(planted, values, match):
    refused(planted.sysctl("kernel.modules_disabled", 0), BadValues, match, values)


def test_without_systemd_sysctls_only(planted):
    for folder in ("/run/systemd", "/etc/systemd"):
        shutil.rmtree(planted.path(folder))
    done = make(planted)
    assert [one["path"] for one in done.files] == [SYSCTLS]
    assert {one["address"] for one in done.ledger["left_out"]} == {
        f"sysfs:{THP}", "sysfs:/sys/kernel/mm/ksm/run", f"pcie_maxreadreq:{GPUS[0]}"}
    assert done.ledger["left_out"][0]["reason"] == "there is no systemd here, which would set it at boot"
    assert not planted.path("/etc/systemd").exists()


def test_where_nothing_is_left_nothing_is_written(planted):
    said = refused(planted, Refusal, "nothing is left to persist", {"sysctl": {"vm.swappiness": 10}},
                   override=["sysctl:vm.swappiness"])
    assert said.startswith("sysctl:vm.swappiness: left out by gpuhost_persist_override\n")
    shutil.rmtree(planted.path("/run/systemd"))
    shutil.rmtree(planted.path("/etc/systemd"))
    refused(planted, Refusal, "there is no systemd here", {"sysfs": {THP: "never"}})


@pytest.mark.parametrize(("run", "installed", "there"), [
    ("/run/systemd/system", "/srv", True), ("/run/openrc", "/etc/systemd/system", False),
    ("/run/gpuhost", "/etc/systemd/system", True), ("/srv", "/usr/lib/systemd/systemd", True),
    ("/run/gpuhost", "/srv", False)])
def test_whether_there_is_systemd(tree, run, installed, there):
    tree.folder(run).folder(installed)
    assert has_systemd(Host(str(tree.root))) is there


def test_on_ostree_usr_local_lies_below_var(planted):
    shutil.rmtree(planted.path("/usr/local"))
    planted.link("/usr/local", "../var/usrlocal").folder("/var/usrlocal/lib")
    before = snapshot(planted)
    make(planted)
    assert planted.path("/var/usrlocal/lib/gpuhost/gpuhost-boot.pyz").is_file()
    assert not make(planted).changed
    remove(Host(str(planted.root)), run_id="r")
    assert snapshot(planted) == before


def test_two_runs_at_once(planted):
    script = ("import fcntl, os, sys, time\nfolder = os.open(sys.argv[1], os.O_RDONLY)\n"
              "fcntl.flock(folder, fcntl.LOCK_EX)\nprint('held', flush=True)\nsys.stdin.read()")
    with subprocess.Popen([sys.executable, "-c", script, str(planted.root)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        refused(planted, Obstacle, "another run is changing what is persisted on this host")
        other.communicate()


@pytest.mark.parametrize(("python", "match"), [
    ("/root/.pyenv/versions/3.11.7/bin/python3", "lies below the home /root"),
    ("/home/anna/bin/python3", "lies below the home /home"),
    ("/usr/bin/python3", None),
    ("/opt/python/bin/python3", None),
])
def test_an_interpreter_of_a_home_is_not_used_at_boot(python, match):
    assert interpreter.why_not(python) == match


def test_an_interpreter_keeps_the_name_that_outlives_an_upgrade(tree):
    real = os.path.realpath("/usr/bin/python3")
    need(os.path.exists(real), "/usr/bin/python3")
    assert interpreter.choose(Host(str(tree.root)), real) == "/usr/bin/python3"
    assert interpreter.choose(Host(str(tree.root)), "/opt/python/bin/python3") == "/opt/python/bin/python3"


def test_an_interpreter_of_a_virtual_environment_is_not_used_at_boot(tmp_path, tree):
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    python = str(tmp_path / "venv" / "bin" / "python3")
    assert interpreter.why_not(python) == "is of a virtual environment"
    assert interpreter.choose(Host(str(tree.root)), python) == "/usr/bin/python3"
