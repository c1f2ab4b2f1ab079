# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hand-written answers of the module gpu_bandwidth and records of them: GPUs on links of 32 GT/s x16."""
from __future__ import annotations

from itertools import permutations

RUN, LATER = "20261129T183000Z-4f2a", "20261130T080000Z-0001"
BOOT = "6f1c1d0e-5a43-4d6a-9a53-0f6b8a7c2e11"


def gpu_answer(bdf, verdict="healthy", message="4 sizes, data compared", h2d=55.3, d2h=52.9,
               name="NVIDIA RTX PRO 6000"):
    return {"bdf": bdf, "uuid": f"GPU-{bdf}", "name": name, "numa_node": 0, "verdict": verdict, "said": message,
            "h2d": h2d and {"gb_s": h2d}, "d2h": d2h and {"gb_s": d2h}, "d2d": {"gb_s": 1512.4},
            "link": {"speed_gt_s": 32.0, "width": 16}}


def pair_answer(source, target, verdict="healthy", message="4 sizes, data compared", write=51.2, read=48.7):
    return {"from": source, "to": target, "can_access": verdict != "unsupported", "verdict": verdict, "said": message,
            "read": read and {"gb_s": read, "latency_us": 1.9}, "write": write and {"gb_s": write, "latency_us": 1.4}}


def answer(gpus, pairs=(), **changes):
    """The module's answer for these GPUs; all are healthy unless another answer is given for them."""
    bdfs = [one if isinstance(one, str) else one["bdf"] for one in gpus]
    given = {(one["from"], one["to"]): one for one in pairs}
    return {"changed": False, "gpus": [gpu_answer(one) if isinstance(one, str) else one for one in gpus],
            "pairs": [given.get(pair) or pair_answer(*pair) for pair in permutations(bdfs, 2)],
            "stopped": None, "not_measured": [], "driver_version": "13.1", "tool": "driver", "where": "host",
            "sizes": [1 << 20, 256 << 20]} | changes


def record(gpus, pairs=(), *, expected=57.6, run_id=RUN, host="pve1", percent=80, **changes):
    """bandwidth.json with the same expectation for every copy; pairs are below one switch."""
    made = answer(gpus, pairs)
    for gpu in made["gpus"]:
        for way in ("h2d", "d2h"):
            gpu[way] = gpu[way] and {**gpu[way], "expected_gb_s": expected}
    for pair in made["pairs"]:
        pair |= {"path": "same switch", "expected_gb_s": expected,
                 "expected_why": "32 GT/s x16 at 0000:02:00.0, MaxPayload 256"}
    del made["changed"]
    return {"schema": "gpuhost.bandwidth/1", "host": host, "run_id": run_id, "boot_id": BOOT,
            "measured_at": "2026-11-29T18:31:00Z", "slow_below_percent": percent, **made, "driver_version": "595.58.03"
            } | changes
