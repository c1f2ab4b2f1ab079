# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two hosts of one order that should be equal, with all that differs between any two running machines."""
from __future__ import annotations

from . import pci
from .cpu import policy_path
from .story_before import GPUS, narrow, story_before
from .tree import Tree

SLOW_GPU = "0000:41:00.0"


def twin(tree: Tree) -> Tree:
    """The host of the story, in service."""
    return story_before(tree)


def other_twin(tree: Tree) -> Tree:
    """An identical machine: its own name, boot ID and serial numbers, a longer uptime, another load."""
    story_before(tree)
    tree.sysctl("kernel.hostname", "pve2")
    tree.file("/proc/sys/kernel/random/boot_id", "7c0a2f4e-5b1d-4c8e-9a37-60d1e2b3c4f5")
    tree.file("/proc/uptime", "4320311.70 551000000.00\n")
    memory = tree.path("/proc/meminfo").read_text()
    # Firmware and kernel reserve slightly more on every second board.
    tree.file("/proc/meminfo", memory.replace("527765504", "527765392").replace("480000000", "212345678"))
    for node in (0, 1):
        path = f"/sys/devices/system/node/node{node}/meminfo"
        tree.file(path, tree.path(path).read_text().replace("209715200", "90210444"))
    for number, address in enumerate(GPUS):
        path = f"/proc/driver/nvidia/gpus/{address}/information"
        tree.file(path, tree.path(path).read_text().replace("GPU-00000000", f"GPU-{number + 1:08x}"))
        pci.plant_aer(tree, address, {"correctable": {"BadTLP": number}})
    tree.file("/sys/devices/system/edac/mc/mc0/seconds_since_reset", "4320000")
    smi = tree.path("/recorded/nvidia-smi.xml").read_text()
    tree.program("nvidia-smi.xml", smi.replace("39.17 W", "88.40 W").replace("P8", "P0"))
    tree.file("/proc/net/softnet_stat", "00a1f000 00000007 00000031 00000000\n")
    return tree


def slow_twin(tree: Tree) -> Tree:
    """The other one, slower for three reasons: its governor, the lanes of one GPU, and automatic NUMA balancing, which
    is on here and off on the first one."""
    other_twin(tree)
    for number in range(128):
        tree.file(policy_path(number, "scaling_governor"), "powersave")
    narrow(tree, SLOW_GPU)
    return tree


def fast_twin(tree: Tree) -> Tree:
    return twin(tree).sysctl("kernel.numa_balancing", 0)
