# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import re
import signal

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host import asked
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import DENIED, Reading, ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel import device_users
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.containers import parse_container
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.device_users import (
    nodes_of_gpu,
    parse_locked_limit,
    parse_may_lock,
    read_locking,
    read_users,
    users_of,
)

from hosts.modules import plant_char_devices
from hosts.processes import (
    plant_container_process,
    plant_kernel_thread,
    plant_limits,
    plant_persistenced,
    plant_process,
    plant_record,
)

DIGITS = "0123456789abcdef" * 4


def test_process_of_the_host_and_of_a_container(tree, host):
    plant_process(tree, 812, "python3", ("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia0", "/dev/nvidia-uvm"))
    plant_container_process(tree, 4711, "vllm", "101", ("/dev/nvidia1", "socket:[99]", "/srv/models/x"))
    plant_process(tree, 9, "sshd", ("/dev/null", "/var/log/nvidia0"))
    plant_kernel_thread(tree, 2, "kthreadd")
    assert read_users(host).value == [
        {"pid": 812, "command": "python3", "container": None,
         "nodes": ["/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl"], "rdma": False, "persistenced": False},
        {"pid": 4711, "command": "vllm", "container": "101", "nodes": ["/dev/nvidia1"], "rdma": False,
         "persistenced": False}]


def test_who_keeps_which_gpu_busy(tree, host):
    plant_process(tree, 812, "python3", ("/dev/nvidia0", "/dev/nvidiactl"))
    plant_container_process(tree, 4711, "vllm", "101", ("/dev/nvidia0", "/dev/nvidia1"))
    plant_process(tree, 813, "nvidia-smi", ("/dev/nvidiactl",))
    users = read_users(host)
    assert users_of(users, ["/dev/nvidia0"]).value == [
        {"pid": 812, "command": "python3", "container": None}, {"pid": 4711, "command": "vllm", "container": "101"}]
    assert [user["pid"] for user in users_of(users, ["/dev/nvidia1"]).value] == [4711]
    assert users_of(users, ["/dev/nvidia2"]) == ok([])
    assert users_of(users, []) == ok([])


def test_persistenced_keeps_no_gpu_busy(tree, host):
    """The kernel cuts its name; it is still listed among those that hold the node (A-31)."""
    plant_persistenced(tree, 700, ("/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"))
    users = read_users(host)
    assert users.value[0]["command"] == "nvidia-persiste"
    assert users_of(users, ["/dev/nvidia0"]) == ok([])
    tree.file("/proc/700/comm", "nvidia-persistenced")
    assert users_of(read_users(host), ["/dev/nvidia0"]) == ok([])


@pytest.mark.parametrize("change", [
    lambda tree: tree.file("/proc/700/cgroup", "0::/user.slice/user-1000.slice/session-3.scope"),
    lambda tree: tree.file("/proc/700/cgroup", "0::/user.slice/x/system.slice/nvidia-persistenced.service"),
    lambda tree: tree.file("/proc/700/cgroup", "0::/system.slice/nvidia-persistenced.service/nested"),
    lambda tree: tree.link("/proc/700/exe", "/home/mallory/python3"),
    lambda tree: tree.file("/proc/700/comm", "python3"),
])
def test_who_only_calls_itself_so_keeps_a_gpu_busy(tree, host, change):
    plant_persistenced(tree, 700, ("/dev/nvidia0",))
    change(tree)
    assert [user["pid"] for user in users_of(read_users(host), ["/dev/nvidia0"]).value] == [700]


@pytest.mark.parametrize("cgroup", [
    "0::/lxc/666", "0::/lxc/666/ns/init.scope", "0::/lxc.payload.evil", "0::/lxc/..",
    "0::/user.slice/user-1000.slice/user@1000.service/lxc/101",
    f"0::/user.slice/user-1000.slice/user@1000.service/app.slice/docker-{DIGITS}.scope",
    "0::/system.slice/ssh.service/lxc/101",
])
def test_a_group_that_a_user_made_is_no_container(tree, host, cgroup):
    plant_record(tree, "101")
    plant_process(tree, 812, "python3", ("/dev/nvidia0",), cgroup=cgroup)
    assert read_users(host).value[0]["container"] is None


@pytest.mark.parametrize(("cgroup", "record", "name"), [
    ("0::/lxc/101/ns/init.scope", "/etc/pve/lxc/101.conf", "101"),
    ("0::/lxc.payload.web", "/var/lib/lxc/web/config", "web"),
    ("0::/lxc.payload.my.web/system.slice", "/var/lib/incus/containers/my.web/metadata.yaml", "my.web"),
    ("0::/lxc.payload.web", "/var/snap/lxd/common/lxd/containers/web/backup.yaml", "web"),
    (f"0::/system.slice/docker-{DIGITS}.scope", "/etc/hostname", "0123456789ab"),
])
def test_a_container_that_somebody_keeps_a_record_of(tree, host, cgroup, record, name):
    tree.file(record, "x")
    plant_process(tree, 812, "python3", ("/dev/nvidia0",), cgroup=cgroup)
    assert read_users(host).value[0]["container"] == name


def test_a_file_that_never_answers_is_left_behind():
    """On this machine: a node that a container made may be of a file system that its owner answers for."""
    host = Host("/")

    def look(name):
        if name == "hangs":
            signal.pause()
        return [name]

    answers = asked.ask_each(host, ["first", "hangs", "last"], look, 0.3)
    assert answers == {"first": ["first"], "hangs": "its file system did not respond within 0.3 s", "last": ["last"]}
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)          # no child is left


def test_amd_nodes(tree, host):
    plant_process(tree, 812, "python3", ("/dev/kfd", "/dev/dri/renderD129"))
    for name in ("card1", "renderD129", "controlD65"):
        tree.folder(f"/sys/bus/pci/devices/0000:c1:00.0/drm/{name}")
    assert read_users(host).value[0]["nodes"] == ["/dev/dri/renderD129", "/dev/kfd"]
    nodes = nodes_of_gpu(host, "0000:c1:00.0", None)
    assert nodes == ["/dev/dri/card1", "/dev/dri/renderD129"]
    assert [user["pid"] for user in users_of(read_users(host), nodes).value] == [812]
    assert nodes_of_gpu(host, "0000:c1:00.0", 3) == ["/dev/nvidia3"]
    assert nodes_of_gpu(host, "0000:01:00.0", None) == []


def test_host_without_a_gpu_driver_is_not_searched(tree, host):
    plant_process(tree, 812, "odd", ("/dev/nvidia0",))
    tree.file("/proc/devices", "Character devices:\n  1 mem\n\nBlock devices:\n253 drm\n")
    assert read_users(host).value == []
    plant_char_devices(tree, (195, "nvidia"))
    assert len(read_users(host).value) == 1


def test_process_without_name_or_group(tree, host):
    tree.link("/proc/55/fd/7", "/dev/nvidia0").folder("/proc/self/fd")
    assert read_users(host).value == [{"pid": 55, "command": "?", "container": None, "nodes": ["/dev/nvidia0"],
                                       "rdma": False, "persistenced": False}]


def test_what_processes_may_lock(tree, host):
    """The limit does not bind the second; the third has ended between two reads."""
    plant_process(tree, 20, "trainer", ("/dev/nvidia0", "/dev/infiniband/uverbs1", "/dev/infiniband/uverbs1"))
    plant_limits(tree, 20, locked=8388608, capabilities=0xbfff)
    plant_container_process(tree, 21, "server", "101", ("/dev/nvidia1",))
    plant_limits(tree, 21, locked=65536, capabilities=0x4000)
    plant_process(tree, 22, "gone", ("/dev/nvidia1",))
    plant_process(tree, 23, "rping", ("/dev/infiniband/uverbs0",))
    plant_process(tree, 24, "free", ("/dev/nvidia1", "/dev/infiniband/rdma_cm"))
    plant_limits(tree, 24, locked=None)
    assert read_locking(host, read_users(host)).value == [
        {"pid": 20, "command": "trainer", "container": None, "limit_bytes": 8388608, "exempt": False, "rdma": True},
        {"pid": 21, "command": "server", "container": "101", "limit_bytes": 65536, "exempt": True, "rdma": False},
        {"pid": 24, "command": "free", "container": None, "limit_bytes": None, "exempt": False, "rdma": False}]
    assert read_locking(host, Reading(DENIED, None, "no")) == Reading(DENIED, None, "no")


@pytest.mark.parametrize("parse", [parse_locked_limit, parse_may_lock])
def test_text_without_the_line(parse):
    with pytest.raises(ValueError, match="no line"):
        parse("Max open files 1 1 files\nCapBnd:\t0000000000004000\n")


class Secretive(Host):
    """A host that shows some processes' files to nobody but root."""

    hidden = ("/proc/900/fd", "/proc/901/fd")

    def read_links(self, folder):
        return Reading(DENIED, None, "EACCES") if folder in self.hidden else super().read_links(folder)


def test_a_process_that_may_not_be_looked_at_makes_it_unknown(tree):
    for pid in (812, 900, 901):
        plant_process(tree, pid, "python3", ("/dev/nvidia0",))
    users = read_users(Secretive(str(tree.root)))
    assert users.status == "denied"
    assert "2 processes" in users.detail
    assert users_of(users, ["/dev/nvidia0"]).status == "denied"


class Vanishing(Host):
    """A host whose process 812 ends while it is looked at."""

    def read_links(self, folder):
        if folder == "/proc/812/fd":
            return Reading("unparsable", None, "ESRCH (No such process)")
        return super().read_links(folder)


def test_a_process_that_ended_meanwhile_is_nobody(tree):
    plant_process(tree, 812, "python3", ("/dev/nvidia0",))
    plant_process(tree, 813, "python3", ("/dev/nvidia1",))
    assert [user["pid"] for user in read_users(Vanishing(str(tree.root))).value] == [813]


class Renaming(Host):
    """A host with a container whose /dev/nvidia0 is the host's GPU 3, as stat(2) on an open file shows."""

    def device_node(self, path):
        if path == "/proc/4711/fd/3":
            return {"type": "c", "major": 195, "minor": 3, "mode": "0666"}
        return super().device_node(path)


def test_container_that_calls_a_gpu_by_another_name(tree):
    plant_container_process(tree, 4711, "vllm", "101", ("/dev/nvidia0",))
    assert read_users(Renaming(str(tree.root))).value[0]["nodes"] == ["/dev/nvidia3"]


@pytest.mark.parametrize(("text", "container"), [
    ("0::/lxc/101/ns/system.slice/vllm.service\n", "101"),
    ("0::/lxc/101\n", "101"),
    ("0::/lxc.payload.web/init.scope\n", "web"),
    ("0::/lxc.monitor/101\n", None),
    ("0::/lxc.monitor.101\n", None),
    ("12:devices:/lxc/102/ns\n11:cpuset:/lxc/102\n0::/\n", "102"),
    (f"0::/system.slice/docker-{DIGITS}.scope\n", "0123456789ab"),
    (f"0::/machine.slice/libpod-{DIGITS}.scope/container\n", "0123456789ab"),
    (f"3:cpu:/docker/{DIGITS}\n", "0123456789ab"),
    (f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-{DIGITS}.scope\n",
     "0123456789ab"),
    (f"0::/kubepods/besteffort/pod12/{DIGITS}\n", "0123456789ab"),
    (f"0::/lxc/101/ns/system.slice/docker-{DIGITS}.scope\n", "101"),
    ("0::/qemu.slice/200.scope\n", None),
    ("0::/user.slice/user-1000.slice/session-3.scope\n", None),
    ("", None), ("\n:\n::\n", None),
])
def test_container_of_a_control_group(text, container):
    assert parse_container(text) == container


class NoMajors(Host):
    """This machine, searched whether it has a GPU driver or not."""

    def read(self, path, limit=1 << 22):
        return Reading("absent") if path == "/proc/devices" else super().read(path, limit)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look at every process")
def test_this_machine_can_be_searched():
    assert read_users(NoMajors()).ok


def test_an_open_node_of_this_machine_is_found(monkeypatch):
    """The descriptor of a live process is seen through, here one of /dev/null in the place of a GPU's."""
    monkeypatch.setattr(device_users, "_NODE", re.compile(r"/dev/null$"))
    with open("/dev/null", encoding="utf-8"):
        users = read_users(NoMajors())
    if users.status == DENIED:
        pytest.skip("this user may not look at every process")
    assert {"pid": os.getpid(), "nodes": ["/dev/null"]} in [
        {"pid": user["pid"], "nodes": user["nodes"]} for user in users.value]
