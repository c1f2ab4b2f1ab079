# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference host, 256 CPUs and 8 GPUs, as a Proxmox VE node with many containers that share the GPUs."""
from __future__ import annotations

from .placement import plant_group, plant_threads
from .proxmox import plant_proxmox
from .reference import reference
from .tree import Tree

CONTAINERS = 40


def crowded(tree: Tree, containers: int = CONTAINERS, *, running: bool = True) -> Tree:
    """Half of the containers get their GPU through devN, the others through mounts and an outdated major."""
    reference(tree)
    numbers = [str(101 + number) for number in range(containers)]
    return plant_proxmox(tree, version="9.1.2", running=tuple(numbers) if running else (), containers={
        number: (_by_device if place % 2 else _by_number)(place % 8) for place, number in enumerate(numbers)})


def two_hundred_guests(tree: Tree) -> Tree:
    """100 running VMs and 100 running containers, 16 of these with a GPU; each VM's QEMU has twelve threads."""
    reference(tree)
    containers = {str(101 + place): _by_device(place % 8) if place < 16 else _common(place) for place in range(100)}
    vms = {str(201 + place): f"cores: 4\ncpu: host\nmemory: 8192\nname: vm{place}\nonboot: 1\nnuma: 0\n"
                             f"net0: virtio=BC:24:11:00:01:{place:02X},bridge=vmbr0\nscsi0: local-zfs:vm,size=32G\n"
           for place in range(100)}
    plant_proxmox(tree, version="9.1.2", containers=containers, vms=vms, running=(*containers, *vms))
    for number in containers:
        plant_group(tree, f"/lxc/{number}", (4, 4), cpuset="0-15", nodes="0-1")
        tree.file(f"/sys/fs/cgroup/lxc/{number}/ns/cpuset.cpus.effective", "0-15")
    for number in vms:
        plant_group(tree, f"/qemu.slice/{number}.scope", (4, 4))
        plant_threads(tree, 20000 + int(number), {"0-238,240-255": 12})
    return tree


def _common(gpu: int) -> str:
    return (f"arch: amd64\ncores: 16\nfeatures: nesting=1\nhostname: serve{gpu}\nmemory: 65536\n"
            "net0: name=eth0,bridge=vmbr0,firewall=1,hwaddr=BC:24:11:00:00:01,ip=dhcp,type=veth\nonboot: 1\n"
            "ostype: debian\nrootfs: local-zfs:subvol-101-disk-0,size=200G\nswap: 0\nunprivileged: 1\n")


def _by_device(gpu: int) -> str:
    paths = (f"/dev/nvidia{gpu}", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
    return _common(gpu) + "".join(f"dev{number}: {path},gid=44\n" for number, path in enumerate(paths))


def _by_number(gpu: int) -> str:
    rules = "".join(f"lxc.cgroup2.devices.allow: c {major}:* rwm\n" for major in (195, 235, 509))
    names = (f"nvidia{gpu}", "nvidiactl", "nvidia-modeset", "nvidia-uvm", "nvidia-uvm-tools",
             "nvidia-caps/nvidia-cap1", "nvidia-caps/nvidia-cap2")
    return _common(gpu) + rules + "".join(
        f"lxc.mount.entry: /dev/{name} dev/{name} none bind,optional,create=file\n" for name in names)
