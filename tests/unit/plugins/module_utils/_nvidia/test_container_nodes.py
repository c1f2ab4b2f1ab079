# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia import container_nodes
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia.libraries import read_containers

from hosts.processes import plant_container_init, plant_container_nodes

NODES = {"/dev/nvidia0": (195, 0), "/dev/nvidia-uvm": (508, 0), "/dev/nvidia-caps/nvidia-cap1": (235, 1)}


def look(tree, nodes=None, files=()):
    nodes = NODES if nodes is None else nodes
    plant_container_init(tree, 5101, "101")
    plant_container_nodes(tree, 5101, nodes, files)
    return asked(tree)


def asked(tree):
    [found] = read_containers(Host(str(tree.root)), ok({"lxc:101": 5101}))["container_nodes"].value
    assert found["name"] == "lxc:101"
    return found["nodes"]


def test_nodes_and_what_is_none(tree):
    assert look(tree, NODES, files=("/dev/nvidiactl", "/dev/null")) == ok([
        ["/dev/nvidia-uvm", "c", 508, 0], ["/dev/nvidia0", "c", 195, 0], ["/dev/nvidiactl", "file", None, None],
        ["/dev/nvidia-caps/nvidia-cap1", "c", 235, 1]]).map(lambda rows: [
            dict(zip(("path", "type", "major", "minor"), row)) for row in rows])


def test_a_container_of_which_no_dev_was_recorded(tree):
    tree.folder(plant_container_init(tree, 5101, "101"))
    assert (asked(tree).status, asked(tree).detail) == ("absent", "its /dev is not visible")


def test_an_empty_dev_has_no_nodes(tree):
    assert look(tree, {}) == ok([])


@pytest.mark.parametrize("target", ["/dev/secret", "../../../../../../dev/nvidia7", "nvidia1", "/"])
def test_links_are_followed_inside_only(tree, target):
    """A node of the host beside the container's root is out of reach, whatever a link says."""
    tree.device("/dev/nvidia7", 195, 7).file("/dev/nvidia7", "")
    root = plant_container_init(tree, 5101, "101")
    plant_container_nodes(tree, 5101, {"/dev/secret": (1, 9)})
    tree.link(f"{root}/dev/nvidia1", target)
    found = asked(tree)
    assert found.status in ("ok", "unparsable")
    assert all(node["minor"] in (None, 9) for node in found.value or [])


def test_more_nodes_than_any_host_has(tree, monkeypatch):
    monkeypatch.setattr(container_nodes, "NODE_LIMIT", 2)
    found = look(tree, {f"/dev/nvidia{minor}": (195, minor) for minor in range(3)})
    assert (found.status, found.detail) == ("unparsable", "/dev has more than 2 device nodes of GPU drivers")


@pytest.mark.skipif(os.geteuid() != 0, reason="mknod needs root")
def test_real_nodes_of_a_live_process(tmp_path):
    """Below a folder that stands for /proc/<pid>/root: the kernel's own answer, without opening anything."""
    (tmp_path / "dev").mkdir()
    try:
        os.mknod(tmp_path / "dev" / "nvidia0", 0o020666, os.makedev(195, 3))
    except PermissionError:
        pytest.skip("this container makes no device nodes")
    (tmp_path / "dev" / "nvidiactl").write_text("")
    (tmp_path / "dev" / "nvidia-uvm").symlink_to("nowhere")
    host = Host()
    found = container_nodes.read_nodes_inside(host, host.below(str(tmp_path)), str(tmp_path))
    assert found == ok([{"path": "/dev/nvidia0", "type": "c", "major": 195, "minor": 3},
                        {"path": "/dev/nvidiactl", "type": "file", "major": None, "minor": None}])
