# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve.guest_state import (
    parse_command_sockets,
    read_running_containers,
    read_unified,
    read_vm_running,
)

from hosts.processes import plant_process
from hosts.proxmox import plant_running_container, plant_running_vm

SOCKETS = """\
Num       RefCount Protocol Flags    Type St Inode Path
ffff9c5f40b6a800: 00000002 00000000 00010000 0001 01 31337 @/var/lib/lxc/101/command
ffff9c5f40b6ac00: 00000003 00000000 00000000 0001 03 31338 @/var/lib/lxc/102/command
ffff9c5f40b6b000: 00000002 00000000 00010000 0001 01 31339 /var/lib/lxc/103/command
ffff9c5f40b6b400: 00000002 00000000 00010000 0001 01 31340 @/var/lib/lxc/name/command
ffff9c5f40b6b800: 00000002 00000000 00010000 0001 01 31341
"""


def test_command_sockets_of_containers():
    assert parse_command_sockets(SOCKETS) == {"101", "102"}
    assert parse_command_sockets("") == set()


def test_a_container_by_its_socket_where_control_groups_are_not_seen(tree, host):
    tree.file("/proc/net/unix", SOCKETS)
    assert read_running_containers(host).value == {"101", "102"}


def test_a_socket_that_any_user_may_make_is_no_sign_of_a_container(tree, host):
    tree.file("/proc/net/unix", SOCKETS)
    tree.file("/sys/fs/cgroup/lxc/104/cgroup.events", "populated 1\nfrozen 0")
    assert read_running_containers(host).value == {"104"}


def test_control_group_that_was_left_behind(tree, host):
    tree.file("/sys/fs/cgroup/lxc/101/cgroup.events", "populated 0\nfrozen 0").folder("/sys/fs/cgroup/lxc/ns")
    assert read_running_containers(host).value == set()


def test_first_version_of_control_groups(tree, host):
    tree.folder("/sys/fs/cgroup/systemd/lxc/101")
    assert read_running_containers(host).value == {"101"}
    assert read_unified(host) is False


def test_nothing_to_tell_it_by(host):
    assert read_running_containers(host).status == "absent"
    assert read_unified(host) is None


def test_unified_hierarchy(tree, host):
    plant_running_container(tree, "101")
    tree.file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu")
    assert read_unified(host) is True


def test_vm_that_runs(tree, host):
    plant_running_vm(tree, "200", pid=4711)
    assert read_vm_running(host, "200") is True
    assert read_vm_running(host, "201") is False


def test_pid_file_that_was_left_behind(tree, host):
    tree.file("/run/qemu-server/200.pid", 4711)
    assert read_vm_running(host, "200") is False


def test_pid_that_another_process_has_now(tree, host):
    tree.file("/run/qemu-server/200.pid", 4711)
    plant_process(tree, 4711, "python3", cmdline=("python3", "200"))
    assert read_vm_running(host, "200") is False
    plant_process(tree, 4711, "kvm", cmdline=("/usr/bin/kvm", "-id", "201", "-pidfile", "/var/run/qemu-server/201.pid"))
    assert read_vm_running(host, "200") is False
    plant_process(tree, 4711, "kvm", cmdline=("/usr/bin/kvm", "-id", "200"))
    assert read_vm_running(host, "200") is True


def test_process_whose_arguments_are_hidden(tree, host):
    tree.file("/run/qemu-server/200.pid", 4711).folder("/proc/4711")
    assert read_vm_running(host, "200") is True


def test_older_folder_of_pid_files(tree, host):
    tree.file("/var/run/qemu-server/200.pid", 4711).folder("/proc/4711")
    assert read_vm_running(host, "200") is True


@pytest.mark.parametrize("text", ["", "many", "-\n"])
def test_pid_file_that_makes_no_sense_is_unknown(tree, host, text):
    tree.file("/run/qemu-server/200.pid", text)
    assert read_vm_running(host, "200") is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_pid_file_that_may_not_be_read_is_unknown(tree, host):
    tree.file("/run/qemu-server/200.pid", 4711, mode=0)
    assert read_vm_running(host, "200") is None
