# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Recorded text output of `nvidia-smi -q`, including failures, as other tools keep it."""
from __future__ import annotations

from .._host.host import Host
from .smi import FAILED, fact, fact_of
from .smi_text import find_failure, is_complete, parse_text

RECORDED = "nvidia-smi.txt"


def read_text(host: Host) -> dict | None:
    """The `smi` fact of a recorded host, even if nvidia-smi should not have been run; None without a recorded text.

    If nvidia-smi failed, `reason` has its message, next to the GPUs that it did report.
    """
    text = None if host.live else host.recorded(RECORDED)
    if text is None or not text.ok:
        return None
    root = parse_text(text.value)
    if root is None:
        lines = (line for line in text.value.splitlines() if line.strip())
        message = find_failure(text.value) or next(lines, "no output")
        return fact(FAILED, message.strip()[:300])
    told = fact_of(root)
    failure = find_failure(text.value)
    if is_complete(root):
        return {**told, "reason": failure}
    return {**told, "state": FAILED, "reason": failure or "its report ends before the last GPU that it counts"}
