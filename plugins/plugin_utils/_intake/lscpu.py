# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The output of lscpu as the files that it is made from (util-linux, sys-utils/lscpu.c)."""
from __future__ import annotations

import re

from .cpus_and_nodes import CPU, NODE
from .recorded_host import RecordedHost

_NODE_CPUS = re.compile(r"NUMA node(\d{1,4}) CPU\(s\)")
_NODE_LIMIT = 1024


def put_lscpu(host: RecordedHost, text: str) -> None:
    """Online CPUs, CPUs of each node, whether cores have two threads, and mitigations of vulnerabilities."""
    fields = dict(re.findall(r"^ *([^:\n]+):\s+(.*)$", text, re.MULTILINE))
    online = fields.get("On-line CPU(s) list")
    if online and re.fullmatch(r"[\d,-]+", online):
        host.put_line(f"{CPU}/online", online)
    threads = fields.get("Thread(s) per core")
    if threads and threads.isdecimal():
        host.put_line(f"{CPU}/smt/active", int(int(threads) > 1))
    nodes = {int(found[1]): cpus for name, cpus in fields.items() if (found := _NODE_CPUS.fullmatch(name))}
    for node, cpus in nodes.items():
        if node < _NODE_LIMIT:
            host.put_line(f"{NODE}/node{node}/cpulist", cpus)
    if nodes:
        host.put_line(f"{NODE}/online", ",".join(str(node) for node in sorted(nodes)))
    for name, state in fields.items():
        if name.startswith("Vulnerability "):
            word = name.removeprefix("Vulnerability ").strip().lower().replace(" ", "_")
            host.put_line(f"{CPU}/vulnerabilities/{word}", state)
