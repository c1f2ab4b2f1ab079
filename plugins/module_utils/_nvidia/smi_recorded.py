# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What nvidia-smi said where others than us have kept it: the text of `nvidia-smi -q`, its failures included."""
from __future__ import annotations

from .._host.host import Host
from .smi import FAILED, fact, fact_of
from .smi_text import find_failure, is_complete, parse_text

RECORDED = "nvidia-smi.txt"


def read_text(host: Host) -> dict | None:
    """The `smi` fact of a recorded host, whatever would have kept us from asking; None where it has no such text.

    What it failed with is the reason, beside the GPUs that it has told of.
    """
    text = None if host.live else host.recorded(RECORDED)
    if text is None or not text.ok:
        return None
    root = parse_text(text.value)
    if root is None:
        said = find_failure(text.value) or next((line for line in text.value.splitlines() if line.strip()), "no output")
        return fact(FAILED, said.strip()[:300])
    told = fact_of(root)
    failure = find_failure(text.value)
    if is_complete(root):
        return {**told, "reason": failure}
    return {**told, "state": FAILED, "reason": failure or "its report ends before the last GPU that it counts"}
