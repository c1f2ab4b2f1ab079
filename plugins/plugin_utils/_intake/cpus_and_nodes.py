# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""CPUs and NUMA nodes from /proc/cpuinfo, numactl -H and the kernel log, as files of /sys."""
from __future__ import annotations

import re

from ...module_utils._kernel.cpulist import format_cpulist, parse_cpulist
from .recorded_host import RecordedHost

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"
CPUS_LIMIT = 8192
_FIELD = re.compile(r"^(processor|physical id|siblings|cpu cores|apicid|initial apicid)\t*: *(\d{1,9})$", re.MULTILINE)
# `smpboot: Allowing 32 CPUs, 0 hotplug CPUs`, `CPU topo: Allowing 12 present CPUs plus 0 hotplug CPUs`
_ALLOWED = re.compile(r"\bAllowing (\d{1,5}) (present )?CPUs(?:,| plus) (\d{1,5}) hotplug CPUs")
_CPUS = re.compile(r"node (\d{1,4}) cpus:((?: \d{1,5})*)\s*")
_MEGABYTES = re.compile(r"node (\d{1,4}) (size|free): (\d{1,9}) MB")
_DISTANCES = re.compile(r"\s*(\d{1,4}):((?:\s+\d{1,3})+)\s*")
# ACPI: SRAT: PXM 0 -> APIC 0x05 -> Node 0
# Printed by the kernel at boot, one line for each node with memory (mm/mm_init.c, free_area_init()).
_NODE_SETUP = re.compile(r"\bInitmem setup node (\d{1,4}) \[mem")
_MEMORY = re.compile(r"^(MemTotal|MemFree): +(\d{1,15}) kB$", re.MULTILINE)
_SRAT = re.compile(r"SRAT: PXM \d+ -> (?:X2)?APIC(?: 0x)?([0-9a-f]{1,8}) -> Node (\d{1,4})")


def parse_cpus(cpuinfo: str) -> list[dict[str, int]]:
    """The IDs of each online CPU: `processor`, `physical id`, `siblings`, `cpu cores`, `apicid`."""
    cpus: list[dict[str, int]] = []
    for name, number in _FIELD.findall(cpuinfo):
        if name == "processor":
            cpus.append({})
        if cpus:
            cpus[-1].setdefault(name, int(number))
    return cpus[:CPUS_LIMIT]


def put_cpus(host: RecordedHost, cpuinfo: str) -> None:
    """/proc/cpuinfo lists the online CPUs and no others (c_start() in arch/x86/kernel/cpu/proc.c)."""
    cpus = parse_cpus(cpuinfo)
    if not cpus:
        return
    host.put_line(f"{CPU}/online", format_cpulist(cpu["processor"] for cpu in cpus))
    for cpu in cpus:
        if "physical id" in cpu:
            host.put_line(f"{CPU}/cpu{cpu['processor']}/topology/physical_package_id", cpu["physical id"])
    if all("siblings" in cpu and "cpu cores" in cpu for cpu in cpus):
        host.put_line(f"{CPU}/smt/active", int(any(cpu["siblings"] > cpu["cpu cores"] for cpu in cpus)))


def put_present(host: RecordedHost, log: list[str]) -> None:
    """The present CPUs, from the line with which the kernel counts them at boot (arch/x86/kernel/smpboot.c, since 6.9
    cpu/topology.c); on x86 their numbers have no gaps."""
    found = next((match for line in log if (match := _ALLOWED.search(line))), None)
    if found is None:
        return
    every, hotplug = int(found[1]), int(found[3])
    present = every if found[2] else every - hotplug
    if 0 < present <= CPUS_LIMIT:
        host.put_line(f"{CPU}/present", format_cpulist(range(present)))


def put_numactl(host: RecordedHost, text: str) -> None:
    """`numactl -H`: CPUs, memory in MB (it divides by 1024 twice) and distances of each node."""
    nodes: dict[int, dict[str, str]] = {}
    for line in text.splitlines():
        cpus, memory, distances = _CPUS.fullmatch(line), _MEGABYTES.fullmatch(line), _DISTANCES.fullmatch(line)
        if cpus is not None:
            nodes.setdefault(int(cpus[1]), {})["cpus"] = cpus[2]
        elif memory is not None:
            nodes.setdefault(int(memory[1]), {})[memory[2]] = memory[3]
        elif distances is not None and int(distances[1]) in nodes:
            nodes[int(distances[1])]["distances"] = distances[2]
    for node, found in nodes.items():
        folder = f"{NODE}/node{node}"
        if "cpus" in found:
            host.put_line(f"{folder}/cpulist", format_cpulist(int(cpu) for cpu in found["cpus"].split()))
        lines = [f"Node {node} {name}: {int(found[key]) << 10:>15} kB\n"
                 for key, name in (("size", "MemTotal"), ("free", "MemFree")) if key in found]
        if lines:
            host.put(f"{folder}/meminfo", "".join(lines))
        if "distances" in found:
            host.put_line(f"{folder}/distance", " ".join(found["distances"].split()))
    if nodes:
        host.put_line(f"{NODE}/online", format_cpulist(nodes))


def put_nodes(host: RecordedHost, log: list[str]) -> None:
    """Nodes without numactl: a single node has everything; with several, the firmware's table has the CPUs."""
    nodes = {int(found[1]) for line in log if (found := _NODE_SETUP.search(line))}
    if nodes:
        host.put_line(f"{NODE}/online", format_cpulist(nodes))
    try:
        online = parse_cpulist((host.text(f"{NODE}/online") or "").strip())
    except ValueError:
        return
    cpus = parse_cpus(host.text("/proc/cpuinfo") or "")
    if not cpus or not online:
        return
    if len(online) == 1:
        folder = f"{NODE}/node{min(online)}"
        host.put_line(f"{folder}/cpulist", format_cpulist(cpu["processor"] for cpu in cpus))
        host.put_line(f"{folder}/distance", 10)
        # All pages belong to the only node (totalram_pages() and the sum over its zones in mm/show_mem.c).
        memory = _MEMORY.findall(host.text("/proc/meminfo") or "")
        host.put(f"{folder}/meminfo", "".join(f"Node {min(online)} {name}: {kib:>14} kB\n" for name, kib in memory))
        return
    node_of = {int(found[1], 16): int(found[2]) for line in log if (found := _SRAT.search(line))}
    places = {cpu["processor"]: node_of.get(cpu.get("apicid", cpu.get("initial apicid", -1))) for cpu in cpus}
    if None in places.values():
        return
    for node in online:
        host.put_line(f"{NODE}/node{node}/cpulist", format_cpulist(cpu for cpu, its in places.items() if its == node))
