# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""For every check with a runtime fix, a host on which it fails and on which the fix can be applied and undone."""
from __future__ import annotations

import shutil
from typing import Any, Callable

from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import Reading, ok

from . import cpu, memory
from .modules import plant_module
from .sick import sick
from .story_before import story_before
from .tree import Tree


def active_mode(tree: Tree) -> None:
    """Two CPUs whose driver takes an energy preference, which is set to save power."""
    sick(tree)
    cpu.plant_frequency(tree, range(2), driver="amd-pstate-epp", governor="powersave", epp="balance_performance",
                        boost=None)


def large_page_off(tree: Tree) -> None:
    """Huge pages with madvise, and none of 2 MiB."""
    sick(tree)
    memory.plant_thp(tree, sizes={2048: "never"})


def merging_alone(tree: Tree) -> None:
    """Pages are merged, and no daemon would start merging again."""
    sick(tree)
    shutil.rmtree(tree.path("/sys/fs/cgroup/system.slice/ksmtuned.service"))


# The sick host fails almost every check; these hosts fail the others.
PLANTED: dict[str, Callable[[Tree], Any]] = {
    "cpu_epp": active_mode, "thp_size": large_page_off, "ksm": merging_alone, "pcie_maxreadreq": story_before}


def planted(check: str) -> Callable[[Tree], Any]:
    """The function that plants a host for `check`."""
    return PLANTED.get(check, sick)


class Programs:
    """Simulates modprobe and rmmod on a planted host, where no program runs: plants and removes modules."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __call__(self, argv: list[str], timeout: float) -> Reading:
        if argv[:2] == ["modprobe", "--show-depends"]:
            return ok(f"insmod /lib/modules/updates/dkms/{argv[2]}.ko \n")
        if argv[0] == "modprobe":
            plant_module(self.tree, argv[1])
        else:
            shutil.rmtree(self.tree.path(f"/sys/module/{argv[1]}"))
            lines = self.tree.path("/proc/modules").read_text().splitlines(keepends=True)
            self.tree.file("/proc/modules", "".join(line for line in lines if not line.startswith(f"{argv[1]} ")))
        return ok("")
