# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Stuck processors and hung tasks reported by watchdogs in the kernel log, and the GPU driver they were in.

kernel/watchdog.c, kernel/watchdog_hld.c (hard lockups), kernel/hung_task.c, kernel/rcu/tree_stall.h.
"""
from __future__ import annotations

import re
from collections.abc import Iterator

SOFT_LOCKUP, HARD_LOCKUP, HUNG_TASK, RCU_STALL = "soft_lockup", "hard_lockup", "hung_task", "rcu_stall"
SEEN = 300          # characters of a line
REPORT = 80         # most lines of a report: registers, modules, a call trace of 20 to 40 functions

_HEADS = (
    (SOFT_LOCKUP, re.compile(r"BUG: soft lockup - CPU#\d+ stuck for .*\[(?P<task>.*?):\d+\]")),
    (HARD_LOCKUP, re.compile(r"Watchdog detected hard LOCKUP on cpu (?P<task>\d+)")),
    (HUNG_TASK, re.compile(r"INFO: task (?P<task>\S.*?):\d+ .*?blocked .*?for more than \d+ seconds")),
    (RCU_STALL, re.compile(r"rcu: INFO: \w+ (?:self-)?detected (?:expedited )?stalls? on (?P<task>CPU)")),
)
_HINT = re.compile(r"soft lockup|hard LOCKUP|blocked|stall")
# A frame of a call trace names the module after the function: `_nv042rm+0x1a/0x20 [nvidia]`. "Modules linked in" does
# not count: it names the driver on every GPU host.
_FRAME = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+ \[(nvidia\w*|amdgpu|amdkfd)\b")
_TASK = re.compile(r"nvidia|nv_|irq/\d+-nvidia|UVM ")


def find_lockups(lines: list[dict]) -> Iterator[tuple[str, str, str | None, dict]]:
    """Yield `(kind, task, module, line)` of every report in log lines `[{seconds, text}]`.

    `module` is the GPU driver with a function in the call trace, or whose thread it is; None for any other.
    """
    for position, line in enumerate(lines):
        kind, task = _head(line["text"])
        if kind is not None:
            yield kind, task, _module(task, lines[position + 1:position + 1 + REPORT]), line


def _head(text: str) -> tuple[str | None, str]:
    if _HINT.search(text):
        for kind, pattern in _HEADS:
            match = pattern.search(text[:SEEN])
            if match is not None:
                return kind, match["task"]
    return None, ""


def _module(task: str, report: list[dict]) -> str | None:
    for line in report:
        if _head(line["text"])[0] is not None:      # the next report
            break
        frame = _FRAME.search(line["text"])
        if frame is not None:
            return frame[1]
    return "nvidia" if _TASK.match(task) else None
