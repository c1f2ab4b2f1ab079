# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The story's node with a container whose device nodes are from another boot, and parts of such containers.

Container 101 is privileged and has its own nodes, made by mknod when nvidia-uvm had the major 508; now it has 509. Its
device rules were updated after the reboot, so they allow the right major, but the node has the old one.
"""
from __future__ import annotations

from .processes import plant_container_nodes
from .story_before import CONTAINERS, UVM_MAJOR, story_before
from .tree import Tree

OLD_UVM_MAJOR = 508
PIDS = {number: 5000 + int(number) for number in CONTAINERS}
# The nodes inside 101: the GPUs and nvidiactl have NVIDIA's fixed major, which is the same in every boot.
NODES = {**{f"/dev/nvidia{minor}": (195, minor) for minor in range(4)}, "/dev/nvidiactl": (195, 255)}
OWN_NODES = """\
arch: amd64
cores: 32
hostname: vllm-a
memory: 131072
ostype: debian
rootfs: local-zfs:subvol-101-disk-0,size=64G
lxc.cgroup2.cpuset.cpus: 0-31
lxc.cgroup2.devices.allow: c 195:* rwm
lxc.cgroup2.devices.allow: c 509:* rwm
"""


def other_boot(tree: Tree) -> Tree:
    """nvidia-smi works in 101, CUDA does not: its /dev/nvidia-uvm refers to 508, which is no longer the driver's."""
    story_before(tree, cores=1)
    tree.file("/etc/pve/nodes/pve1/lxc/101.conf", OWN_NODES)
    return plant_container_nodes(tree, PIDS["101"], {**NODES, "/dev/nvidia-uvm": (OLD_UVM_MAJOR, 0)})


def this_boot(tree: Tree) -> Tree:
    """The same container after its node was recreated."""
    story_before(tree, cores=1)
    tree.file("/etc/pve/nodes/pve1/lxc/101.conf", OWN_NODES)
    return plant_container_nodes(tree, PIDS["101"], {**NODES, "/dev/nvidia-uvm": (UVM_MAJOR, 0)})
