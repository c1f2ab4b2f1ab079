# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`qm set` of a stub: which options it is handed, what is refused, and the way back."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._guest_config.options import alike
from ansible_collections.gpuhost.tuning.plugins.module_utils._guest_config.placed_vm import PlacedVm
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host

from qm_stub import QmStub

CONF = "cores: 8\nmemory: 4096\naffinity: 8-15\nnuma: 1\nnuma0: cpus=0-3,hostnodes=1,memory=2048,policy=bind\n" \
       "numa1: cpus=4-7,hostnodes=1,memory=2048,policy=bind\n"
NOW = {"affinity": "8-15", "numa0": "cpus=0-3,hostnodes=1,memory=2048,policy=bind",
       "numa1": "cpus=4-7,hostnodes=1,memory=2048,policy=bind"}
WANTED = {"affinity": "0-7", "numa0": "cpus=0-7,hostnodes=0,memory=4096,policy=bind", "numa1": None}


class Live(Host):
    """A planted folder that is taken for the machine itself, as its qm is a stub."""

    def __init__(self, sysroot):
        super().__init__(sysroot)
        self.live, self.root = True, sysroot

    def read_bytes(self, path, limit=1 << 20):
        with open(self.root + path, "rb") as stream:
            return stream.read(limit)


@pytest.fixture
def node(tree):
    """`node(text, running)` is a host with VM 200, and its stub of qm."""
    def node(text=CONF, running=True):
        tree.file("/etc/pve/qemu-server/200.conf", text)
        return Live(str(tree.root)), QmStub(tree.root / "etc/pve/qemu-server", running)

    return node


def conf(host):
    return host.read_bytes("/etc/pve/qemu-server/200.conf").decode()


@pytest.mark.parametrize("running", [True, False])
def test_a_vm_is_placed_and_brought_back(node, running):
    host, qm = node(running=running)
    change = PlacedVm(host, "vm:200", {"set": WANTED, "only_from": NOW}).apply(False, qm)
    assert (change["outcome"], change["before"], change["after"]) == ("changed", NOW, WANTED)
    command, = qm.calls
    assert command[3] == "--digest" and command[5:] == [
        "--affinity", "0-7", "--numa0", WANTED["numa0"], "--delete", "numa1"]
    assert ("[PENDING]" in conf(host)) is running
    back = PlacedVm(host, "vm:200", {"set": NOW, "only_from": WANTED}).apply(False, qm)
    assert back["outcome"] == "changed"
    assert sorted(conf(host).splitlines()) == sorted(CONF.splitlines())
    # Before the next start the change is dropped; afterwards the old options are set.
    assert ("--revert" in qm.calls[1]) is running


def test_what_is_so_already_is_not_written(node):
    host, qm = node()
    change = PlacedVm(host, "vm:200", {"set": {"affinity": "8,9,10-15", "numa": "1"}}).apply(False, qm)
    assert (change["outcome"], qm.calls) == ("unchanged", [])


def test_check_mode_writes_nothing(node):
    host, qm = node()
    assert PlacedVm(host, "vm:200", {"set": WANTED}).apply(True, qm)["outcome"] == "would_change"
    assert (qm.calls, conf(host)) == ([], CONF)


@pytest.mark.parametrize("text, reason", [
    (CONF + "lock: backup\n", "the VM is locked (backup)"),
    (CONF.replace("8-15", "8-11"), "affinity is 8-11, and no longer 8-15: somebody changed it"),
    (CONF + "[PENDING]\naffinity: 4-7\n", "affinity is 4-7, and no longer 8-15: somebody changed it"),
    (CONF + "[PENDING]\ndelete: affinity\n", "affinity is not set, and no longer 8-15: somebody changed it")])
def test_somebody_elses_change_is_left_alone(node, text, reason):
    host, qm = node(text)
    change = PlacedVm(host, "vm:200", {"set": WANTED, "only_from": NOW}).apply(False, qm)
    assert (change["outcome"], change["reason"], qm.calls, conf(host)) == ("refused", reason, [], text)


def test_a_write_of_somebody_meanwhile_is_refused_by_the_digest(node, tree):
    host, qm = node()
    qm.meanwhile = lambda: tree.file("/etc/pve/qemu-server/200.conf", CONF + "onboot: 1\n")
    change = PlacedVm(host, "vm:200", {"set": WANTED}).apply(False, qm)
    assert change["outcome"] == "refused" and "checksum mismatch" in change["reason"]
    assert conf(host) == CONF + "onboot: 1\n"


def test_without_qm_and_without_a_vm(node):
    host, _qm = node()
    change = PlacedVm(host, "vm:200", {"set": WANTED}).apply(False, lambda _argv, _timeout: None)
    assert (change["outcome"], change["reason"]) == ("refused", "qm is not installed")
    change = PlacedVm(host, "vm:201", {"set": WANTED}).apply(False, lambda _argv, _timeout: None)
    assert change["reason"] == "/etc/pve/qemu-server/201.conf: ENOENT (No such file or directory)"


@pytest.mark.parametrize("subject, entry, message", [
    ("lxc:101", {"set": WANTED}, "'lxc:101' is no VM"),
    ("vm:200; reboot", {"set": WANTED}, "is no VM"),
    ("vm:200", {"set": {"memory": "4096"}}, "'memory' is not set here: only affinity, numa and numa0 to numa7 are"),
    ("vm:200", {"set": {"numa8": "cpus=0"}}, "'numa8' is not set here"),
    ("vm:200", {"set": {"affinity": "--skiplock"}}, "has not the form of this option"),
    ("vm:200", {"set": {"affinity": 3}}, "in quotes"),
    ("vm:200", {"set": {"numa0": "cpus=0,hostnodes=0,memory=1,policy=bind,x=y"}}, "has not the form"),
    ("vm:200", {"set": {}}, "wanted a mapping of options"),
    ("vm:200", {"set": WANTED, "revert": "affinity"}, "wanted set, and perhaps only_from"),
    ("vm:200", "0-7", "wanted set")])
def test_other_options_are_never_handed_to_qm(node, subject, entry, message):
    host, _qm = node()
    with pytest.raises(ValueError, match=message):
        PlacedVm(host, subject, entry)


@pytest.mark.parametrize("name, one, other, same", [
    ("numa", "0", None, True), ("numa", "1", None, False), ("affinity", "0-1, 2", "0-2", True),
    ("affinity", None, "0", False), ("numa0", "cpus=0;1,memory=1", "memory=1,cpus=0-1", True),
    ("numa0", "cpus=0-1,memory=1", "cpus=0-1,memory=2", False), ("affinity", "odd", "odd", True)])
def test_texts_that_mean_the_same(name, one, other, same):
    assert alike(name, one, other) is same
