# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plant kernel modules and the majors of character devices."""
from __future__ import annotations

from .tree import Tree

_PROC_STATES = {"live": "Live", "coming": "Loading", "going": "Unloading"}


def plant_module(tree: Tree, name: str, *, version: str | None = None, refcount: int = 0,
                 holders: tuple[str, ...] = (), state: str = "live", size: int = 65536) -> Tree:
    """A loaded module in /sys/module and /proc/modules; `holders` are modules that use it."""
    folder = f"/sys/module/{name}"
    tree.files(folder, {"initstate": state, "refcnt": refcount})
    if version is not None:
        tree.file(f"{folder}/version", version)
    tree.folder(f"{folder}/holders")
    for holder in holders:
        tree.link(f"{folder}/holders/{holder}", f"../../{holder}")
    users = "".join(f"{holder}," for holder in holders) or "-"
    add_line(tree, "/proc/modules", f"{name} {size} {refcount} {users} {_PROC_STATES[state]} 0x0000000000000000")
    return tree


def plant_built_in(tree: Tree, *paths: str, release: str = "6.8.12-9-pve") -> Tree:
    """Built-in modules by path: `kernel/drivers/cpufreq/amd-pstate.ko`."""
    tree.file("/proc/sys/kernel/osrelease", release)
    return tree.file(f"/lib/modules/{release}/modules.builtin", "\n".join(paths))


def plant_installed_kernel(tree: Tree, release: str, modules: tuple[str, ...] = (), *, bootable: bool = True) -> Tree:
    """An installed kernel and the modules that DKMS has built for it."""
    if bootable:
        tree.file(f"/boot/vmlinuz-{release}", b"MZ")
    lines = ["kernel/fs/ext4/ext4.ko: kernel/fs/jbd2/jbd2.ko", *(f"updates/dkms/{name}.ko:" for name in modules)]
    return tree.file(f"/lib/modules/{release}/modules.dep", "\n".join(lines))


def plant_char_devices(tree: Tree, *majors: tuple[int, str]) -> Tree:
    """Lines of the first half of /proc/devices, sorted by major like the kernel's; calls accumulate."""
    if not tree.path("/proc/devices").exists():
        tree.file("/proc/devices", "Character devices:\n  1 mem\n  5 /dev/tty\n 10 misc\n\nBlock devices:\n  9 md\n")
    head, blank, block = tree.path("/proc/devices").read_text().partition("\n\n")
    title, *lines = head.split("\n") + [f"{major:3d} {name}" for major, name in majors]
    lines.sort(key=lambda line: int(line.split()[0]))
    return tree.file("/proc/devices", "\n".join([title, *lines]) + blank + block)


def add_line(tree: Tree, path: str, line: str) -> Tree:
    """Append a line to a file that may not exist yet."""
    before = tree.path(path).read_text() if tree.path(path).exists() else ""
    return tree.file(path, before + line)
