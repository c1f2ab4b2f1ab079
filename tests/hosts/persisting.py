# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Part of a host for making settings persistent: systemd, Debian's folders, one setting of each kind."""
from __future__ import annotations

import hashlib
import os
import stat

from .pci import plant_gpu
from .tree import Tree

GPUS = ("0000:01:00.0", "0000:41:00.0")
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
KSM = "/sys/kernel/mm/ksm/run"
VALUES = {"sysctl": {"vm.swappiness": 10, "kernel.numa_balancing": "0"}, "sysfs": {THP: "madvise", KSM: 0},
          "pcie_maxreadreq": {GPUS[0]: 4096}}


def persisting(tree: Tree, gpus: tuple[str, ...] = GPUS) -> Tree:
    """Two GPUs on a host without guests; nothing is persistent yet."""
    tree.file("/proc/sys/kernel/random/boot_id", "5f0c2a9e-7d31-4c7b-9a43-2f6d1e8b4c55")
    for folder in ("/run/systemd/system", "/etc/sysctl.d", "/etc/systemd/system/multi-user.target.wants",
                   "/etc/udev/rules.d", "/usr/local/lib", "/var/lib"):
        tree.folder(folder)
    for key, value in {"vm.swappiness": 60, "kernel.numa_balancing": 1, "vm.dirty_ratio": 20, "vm.dirty_bytes": 0,
                       "net.core.rmem_max": 212992}.items():
        tree.sysctl(key, value)
    tree.file(THP, "[always] madvise never").file(KSM, 1)
    for bdf in gpus:
        plant_gpu(tree, bdf, parent=None)
    return tree


def snapshot(tree: Tree) -> dict[str, tuple]:
    """The type, mode and bytes of every file, folder and link below the tree, except /run/gpuhost."""
    found = {}
    for folder, names, files in os.walk(tree.root):
        for name in [*names, *files]:
            path = os.path.join(folder, name)
            inside = path[len(str(tree.root)):]
            if inside == "/run/gpuhost" or inside.startswith("/run/gpuhost/"):
                continue
            seen = os.lstat(path)
            if stat.S_ISLNK(seen.st_mode):
                found[inside] = ("link", os.readlink(path))
            elif stat.S_ISDIR(seen.st_mode):
                found[inside] = ("folder", stat.S_IMODE(seen.st_mode))
            else:
                with open(path, "rb") as stream:
                    found[inside] = (stat.S_IMODE(seen.st_mode), hashlib.sha256(stream.read()).hexdigest())
    return found
