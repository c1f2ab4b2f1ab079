# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plant processes: /proc/<pid> with a name, a control group and open files."""
from __future__ import annotations

from .tree import Tree


def plant_process(tree: Tree, pid: int, command: str, files: tuple[str, ...] = (), *,
                  cgroup: str = "0::/user.slice", cmdline: tuple[str, ...] = ()) -> Tree:
    """A process that has `files` open (descriptors 0, 1 and 2 are /dev/null). The kernel truncates `comm` to 15."""
    folder = f"/proc/{pid}"
    tree.file(f"{folder}/comm", command[:15]).file(f"{folder}/cgroup", cgroup)
    tree.file(f"{folder}/cmdline", b"\0".join(word.encode() for word in cmdline or (command,)) + b"\0")
    for number, path in enumerate(("/dev/null",) * 3 + tuple(files)):
        tree.link(f"{folder}/fd/{number}", path)
    return tree


def plant_persistenced(tree: Tree, pid: int, files: tuple[str, ...]) -> Tree:
    """NVIDIA's persistence daemon as started by its unit, with `files` open."""
    plant_process(tree, pid, "nvidia-persistenced", files, cgroup="0::/system.slice/nvidia-persistenced.service")
    return tree.link(f"/proc/{pid}/exe", "/usr/bin/nvidia-persistenced")


def plant_limits(tree: Tree, pid: int, *, locked: int | None, capabilities: int = 0) -> Tree:
    """The memlock limit of a process in bytes, None for unlimited, and its effective capabilities."""
    limit = "unlimited" if locked is None else str(locked)
    tree.file(f"/proc/{pid}/limits", "Limit                     Soft Limit           Hard Limit           Units     \n"
                                     "Max open files            1024                 524288               files     \n"
                                     f"Max locked memory         {limit:<20} {limit:<20} bytes     \n")
    return tree.file(f"/proc/{pid}/status", f"Name:\tplanted\nCapEff:\t{capabilities:016x}\nSeccomp:\t0\n")


def plant_kernel_thread(tree: Tree, pid: int, name: str) -> Tree:
    """A kernel thread: without a command line and without files."""
    tree.file(f"/proc/{pid}/comm", name).file(f"/proc/{pid}/cgroup", "0::/").file(f"/proc/{pid}/cmdline", b"")
    return tree.folder(f"/proc/{pid}/fd")


def plant_record(tree: Tree, container: str) -> Tree:
    """The file that Proxmox VE writes when it starts a container: its configuration for LXC."""
    return tree.file(f"/var/lib/lxc/{container}/config", f"lxc.uts.name = ct{container}")


def plant_container_init(tree: Tree, pid: int, container: str) -> str:
    """The first process of a running container, in its own group made by lxc; returns the path of its root folder."""
    plant_process(tree, pid, "systemd", cgroup=f"0::/lxc/{container}/ns/init.scope")
    plant_record(tree, container)
    tree.file(f"/sys/fs/cgroup/lxc/{container}/ns/init.scope/cgroup.procs", pid)
    return f"/proc/{pid}/root"


def plant_container_process(tree: Tree, pid: int, command: str, container: str, files: tuple[str, ...] = ()) -> Tree:
    """A process inside a Proxmox container, as the host sees it."""
    plant_record(tree, container)
    return plant_process(tree, pid, command, files, cgroup=f"0::/lxc/{container}/ns/system.slice/{command}.service")


def plant_container_nodes(tree: Tree, pid: int, nodes: dict[str, tuple[int, int]], files: tuple[str, ...] = ()) -> Tree:
    """The content of /dev in a running container whose first process is `pid`: nodes by path, `(major, minor)`, and
    plain files, as left by a mount with create=file if the host has no such node."""
    root = f"/proc/{pid}/root"
    tree.folder(f"{root}/dev")
    for path, (major, minor) in nodes.items():
        tree.device(f"{root}{path}", major, minor)
    for path in files:
        tree.file(f"{root}{path}", b"")
    return tree
