# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Processes killed by the kernel because the host, or the limit of a control group, was out of memory.

mm/oom_kill.c: dump_oom_victim() names limit and group, __oom_kill_process() the process.
"""
from __future__ import annotations

import re
from collections.abc import Iterator

OOM_HOST, OOM_CGROUP = "oom_host", "oom_cgroup"

_LIMIT = re.compile(r"oom-kill:constraint=(\w+),.*?(?:oom_memcg=([^,]*),)?task_memcg=([^,]*),")
_KILLED = re.compile(r"(?:(Memory cgroup out of memory)|Out of memory\b[^:]*): Kill(?:ed)? process (\d+) \((.*?)\)")
# Until Linux 4.20: preceded by "Memory cgroup stats for /lxc/101: ...".
_STATS = re.compile(r"Memory cgroup stats for ([^:\s]+):")
SEEN = 2000         # characters of a line; it has the paths of two control groups
_MEMCG = "CONSTRAINT_MEMCG"


def find_oom_kills(lines: list[dict]) -> Iterator[tuple[str, str | None, str, dict]]:
    """Yield `(kind, group, process, line)` of every kill in log lines `[{seconds, text}]`.

    `group` is the control group whose limit was reached (`/lxc/101`), None for the host's memory or if unknown.
    """
    group = None
    for line in lines:
        text = line["text"][:SEEN]
        if "oom-kill:" in text:
            limit = _LIMIT.search(text)
            group = (limit[2] or limit[3]) if limit and limit[1] == _MEMCG else None
        elif "Memory cgroup stats for" in text:
            stats = _STATS.search(text)
            group = stats[1] if stats else None
        elif "ut of memory" in text:
            killed = _KILLED.search(text)
            if killed is not None:
                yield (OOM_CGROUP, group, killed[3], line) if killed[1] else (OOM_HOST, None, killed[3], line)
                group = None
