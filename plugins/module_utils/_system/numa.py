# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""NUMA nodes: /sys/devices/system/node (Documentation/ABI/stable/sysfs-devices-node)."""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import ABSENT, Reading, known, ok, settle
from .._kernel.cpulist import format_cpulist, parse_cpulist
from .._pci.interrupts import parse_mask

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"
NVIDIA_GPUS = "/proc/driver/nvidia/gpus"


def read(host: Host) -> dict:
    """Read the facts' section `numa`: the online nodes; none if the kernel was built without NUMA."""
    gpus = known(lambda: read_gpu_nodes(host))
    return {"nodes": known(lambda: [read_node(host, node, gpus) for node in _online(host)])}


def _online(host: Host) -> list[int]:
    """The numbers of the online nodes, which are those that have a folder. Copies of a machine's files that other
    tools made may have the folders without the file."""
    online = host.read(f"{NODE}/online").map(parse_cpulist)
    if online.status != ABSENT:
        return online.value or []
    return sorted(int(found[1]) for name in host.list(NODE) if (found := re.fullmatch(r"node(\d{1,5})", name)))


def read_package(host: Host, cpus: str) -> int | None:
    """Read the processor package of the first of these CPUs (Documentation/ABI/stable/sysfs-devices-system-cpu).

    None for a memory-only node, and if the kernel does not know it (-1). All CPUs of a node are in one package.
    """
    numbers = parse_cpulist(cpus)
    if not numbers:
        return None
    package = host.read_int(f"{CPU}/cpu{min(numbers)}/topology/physical_package_id").value
    return None if package is None or package < 0 else package


def read_gpu_nodes(host: Host) -> dict[int, str]:
    """Read the nodes that are GPU memory, each with the GPU's address: numa_status of the NVIDIA driver.

    The file exists only if GPU memory is coherent with the host's (GH200, GB200, V100 in POWER9)
    (kernel-open/nvidia/nv-procfs.c, numa_status_read()).
    """
    found = {}
    for path in host.glob(f"{NVIDIA_GPUS}/*/numa_status"):
        node = re.search(r"^Node:\s+(\d{1,6})\s*$", host.read(path).value or "", re.MULTILINE)
        if node:
            found[int(node[1])] = path.split("/")[-2]
    return found


def read_node(host: Host, node: int, gpus: dict[int, str]) -> dict:
    """Read a node: online CPUs, memory in KiB, the GPU whose memory it is, the distance to every node (itself: 10).

    `gpus` is the result of read_gpu_nodes().
    """
    folder = f"{NODE}/node{node}"
    memory = host.read(f"{folder}/meminfo").map(parse_meminfo)
    cpus = known(lambda: read_cpus(host, folder))
    return settle({
        "node": lambda: f"node{node}",
        "id": lambda: node,
        "cpus": lambda: cpus,
        "package": lambda: read_package(host, cpus),
        "memory_kib": lambda: pick(memory, "MemTotal"),
        "free_kib": lambda: pick(memory, "MemFree"),
        "gpu": lambda: gpus.get(node),
        "distances": lambda: host.read(f"{folder}/distance").map(parse_numbers).value or [],
    })


def read_cpus(host: Host, folder: str) -> str:
    """Read the online CPUs of a node; kernels before 2.6.27 have a mask instead of a list."""
    cpus = host.read(f"{folder}/cpulist").map(parse_cpulist)
    if cpus.status == ABSENT:
        cpus = host.read(f"{folder}/cpumap").map(parse_mask)
    return format_cpulist(cpus.value or ())


def parse_meminfo(text: str) -> dict[str, int]:
    """Parse `MemTotal:  527765504 kB`, in a node's file preceded by `Node 0`; lines without a unit are counts."""
    return {name: int(number) for name, number in re.findall(r"^(?:Node +\d+ +)?(\S+): +(\d+)", text, re.MULTILINE)}


def pick(meminfo: Reading, name: str) -> Reading:
    """Return one value of parse_meminfo()."""
    if not meminfo.ok:
        return meminfo
    return ok(meminfo.value[name]) if name in meminfo.value else Reading(ABSENT, None, f"no line {name}")


def parse_numbers(text: str) -> list[int]:
    return [int(number) for number in text.split()]
