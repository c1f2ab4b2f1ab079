# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other sources of settings on a planted host: systemd services and files of sysctl.d."""
from __future__ import annotations

from .tree import Tree

ONLY_COMMENTS = "#\n# /etc/sysctl.conf - Configuration file for setting system variables\n#\n#vm.swappiness = 1\n"
MAP_COUNT = "# Enough for programs with very many mappings\nvm.max_map_count=1048576\n"
DEBIAN_13_DEFAULTS = "# Files in /etc win\nkernel.sysrq = 0x01b6\n-net.ipv4.ping_group_range = 0 2147483647\n"


def plant_systemd(tree: Tree, *services: str) -> None:
    """A host with systemd and the named services installed, enabled and running."""
    tree.folder("/run/systemd/system").folder("/sys/fs/cgroup/system.slice")
    for name in services:
        plant_service(tree, name)


def plant_service(tree: Tree, name: str, *, enabled: bool = True, running: bool = True,
                  target: str = "multi-user") -> None:
    unit = f"{name}.service"
    tree.file(f"/usr/lib/systemd/system/{unit}", f"[Unit]\nDescription={name}\n")
    if enabled:
        tree.link(f"/etc/systemd/system/{target}.target.wants/{unit}", f"/usr/lib/systemd/system/{unit}")
    if running:
        tree.file(f"/sys/fs/cgroup/system.slice/{unit}/cgroup.procs", "815")


def plant_debian_12(tree: Tree, *services: str) -> None:
    """/etc/sysctl.conf with only comments, and the link through which systemd-sysctl reads it."""
    plant_systemd(tree, *services)
    tree.file("/etc/sysctl.conf", ONLY_COMMENTS).link("/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf")


def plant_debian_13(tree: Tree, *services: str) -> None:
    """No /etc/sysctl.conf; the defaults are in a file of their own."""
    plant_systemd(tree, *services)
    tree.file("/usr/lib/sysctl.d/50-default.conf", DEBIAN_13_DEFAULTS)


def plant_ubuntu_24_04(tree: Tree, *services: str) -> None:
    """Like Debian 12, with a larger limit of mappings."""
    plant_debian_12(tree, *services)
    tree.file("/usr/lib/sysctl.d/10-map-count.conf", MAP_COUNT)
    tree.sysctl("vm.max_map_count", 1048576)
