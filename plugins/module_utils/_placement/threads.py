# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""CPUs and memory nodes that the threads of a process may use: /proc/<pid>/task/<tid>/status.

Proxmox VE binds a whole QEMU process with `taskset --all-tasks` (qemu-server, PVE/QemuServer.pm, vm_start_nolock()),
so all threads of a VM have the same list unless some were moved later. Cpus_allowed_list and Mems_allowed_list:
Documentation/filesystems/proc.rst; they do not reflect a memory policy (set_mempolicy(2)).
"""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import ABSENT, Reading, ok
from .cgroup import normal

THREAD_LIMIT = 4096     # of one process
_CPUS = re.compile(r"^Cpus_allowed_list:\s*(\S*)$", re.MULTILINE)
_NODES = re.compile(r"^Mems_allowed_list:\s*(\S*)$", re.MULTILINE)


def read_threads(host: Host, pid: int) -> dict:
    """Readings `{threads, cpus, memory_nodes}`: `[{cpus, count}]` by CPU list, the union of the CPUs, the nodes.

    A thread that has ended is skipped; if one cannot be read, no reading is ok.
    """
    folder = f"/proc/{pid}/task"
    names = host.read_list(folder)
    if not names.ok:
        return dict.fromkeys(("threads", "cpus", "memory_nodes"), Reading(names.status, None, names.detail))
    texts = host.read_attributes(folder, [f"{name}/status" for name in names.value[:THREAD_LIMIT] if name.isdecimal()])
    hidden = next((text for text in texts.values() if not text.ok and text.status != ABSENT), None)
    lines = [text.map(_cpus_line) for text in texts.values() if text.ok]
    broken = hidden or next((one for one in lines if not one.ok), None)
    if broken is not None or not lines:
        lost = broken or Reading(ABSENT, None, f"process {pid} has no threads")
        return dict.fromkeys(("threads", "cpus", "memory_nodes"), Reading(lost.status, None, lost.detail))
    counts: dict[str, int] = {}
    for line in lines:
        counts[line.value] = counts.get(line.value, 0) + 1
    lists = ok(counts).map(lambda found: [{"cpus": normal(text), "count": count}
                                          for text, count in sorted(found.items())])
    first = next(text for text in texts.values() if text.ok)
    return {"threads": lists, "cpus": ok(",".join(counts)).map(normal), "memory_nodes": first.map(parse_nodes)}


def _cpus_line(text: str) -> str:
    return _line(_CPUS, text)


def parse_nodes(text: str) -> str:
    return normal(_line(_NODES, text))


def _line(pattern: re.Pattern, text: str) -> str:
    found = pattern.search(text)
    if found is None:
        raise ValueError(f"no line {pattern.pattern[1:].partition(':')[0]}")
    return found[1]
