# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import exec as pve_exec
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve.exec import container_prefix

SOCKETS = "Num RefCount\n0000: 00000002 0 0 0001 01 1 @/var/lib/lxc/101/command\n"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Programs that are there, by name; what is in the usual folders of this machine is not."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr(pve_exec, "PATH", str(folder))

    def install(name):
        (folder / name).touch(mode=0o755)
        return str(folder / name)
    return install


def test_the_way_in_of_proxmox_is_taken_where_it_is_there(host, tree, installed):
    tree.file("/proc/net/unix", SOCKETS)
    attach, pct = installed("lxc-attach"), installed("pct")
    assert container_prefix(host, "101") == [pct, "exec", "101", "--"]
    assert container_prefix(host, "101", keep=True) == [attach, "-n", "101", "--keep-env", "--"]


def test_a_container_that_has_a_name_is_none_of_proxmox(host, tree, installed):
    tree.file("/proc/net/unix", SOCKETS)
    installed("pct")
    attach = installed("lxc-attach")
    assert container_prefix(host, "web-1") == [attach, "-n", "web-1", "--"]


@pytest.mark.parametrize("container, message", [
    ("102", "container 102 is not running: start it, or choose another one (running: 101)"),
    ("101", "container 101 cannot be entered: neither pct nor lxc-attach is installed on this host"),
    ("-n", "container '-n' is not the id or name of a container, such as 101"),
    ("101 102", "container '101 102' is not the id or name of a container, such as 101"),
    ("", "container '' is not the id or name of a container, such as 101"),
])
def test_what_keeps_anybody_out(host, tree, installed, container, message):
    tree.file("/proc/net/unix", SOCKETS)
    with pytest.raises(ValueError) as caught:
        container_prefix(host, container)
    assert str(caught.value) == message
