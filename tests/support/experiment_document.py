# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A hand-written document of an experiment: three changes, two metrics, one discarded run."""
from __future__ import annotations

TOO_HOT = "0000:01:00.0 is 91 °C, the limit is 85"
RUN = "20261130T010000Z-4f2a"


def found(verdict, message, percent=None, low=None, high=None, *, blocks=10, chance=1.0, seen=None, more=None):
    return {"verdict": verdict, "blocks": blocks, "chance": chance, "percent": percent, "low": low, "high": high,
            "smallest_seen": seen, "more_blocks": more, "more_runs": more and 2 * more, "said": message}


HELPS = found("helps", "helps: +12.4 % (+10.9 % to +13.8 %, 10 blocks of 2 runs)", 12.4, 10.9, 13.8, chance=0.007937)
LOWERS = found("helps", "helps: -8.2 % (-9.9 % to -6.4 %, 10 blocks of 2 runs)", -8.2, -9.9, -6.4, chance=0.007937)
NOTHING = found("no measurable effect", "no measurable effect: +0.2 % (-0.9 % to +1.3 %, 10 blocks of 2 runs); one "
                "beyond 1.3 % would have been detected", 0.2, -0.9, 1.3, chance=0.69, seen=1.3)
OPEN = found("inconclusive", "inconclusive: needs 26 more runs (10 blocks of 2 runs were measured, about 23 are "
                             "needed; so far +1.4 % (-1.5 % to +4.2 %))", 1.4, -1.5, 4.2, chance=0.31, more=13)
HURTS = found("hurts", "hurts: -4.0 % (-6.1 % to -1.8 %, 10 blocks of 2 runs)", -4.0, -6.1, -1.8, chance=0.031746)
FEW = found("inconclusive", "inconclusive: needs 10 more runs (3 blocks of 2 runs were measured, fewer than 8 allow "
                            "no verdict)", 1.0, blocks=3, chance=0.4, more=5)


def arm(name, check, address, value, **metrics):
    kind, _colon, key = address.partition(":")
    return {"name": name, "toggles": [address], "checks": [check], "values": {kind: {key: value}}, "metrics": metrics}


def run(number, state, speed, *, arm="thp_enabled", block=1, discarded=None, temperature=61, users=(), **more):
    gpu = {"bdf": "0000:01:00.0", "temperature_c": temperature, "sm_mhz": 2370, "throttle": [], "power_w": 412.5}
    conditions = {"load1": 1.5, "users": list(users), "gpus": [gpu]}
    return {"number": number, "arm": arm, "block": block, "state": state, "started": "2026-11-30T01:00:00Z",
            "seconds": 61.2, "values": {"tokens_per_second": speed}, "discarded": discarded,
            "raw": f"raw/{number:03d}.stdout", "conditions": {"before": conditions, "after": conditions}} | more


def experiment(**more):
    """A document of the schema gpuhost.experiment/1."""
    return {
        "schema": "gpuhost.experiment/1", "host": "pve1", "run_id": RUN, "boot_id": "0b54b1f2",
        "measured_at": "2026-11-30T01:00:00Z", "mode": "one_at_a_time", "benchmark": "vllm serving",
        "metrics": [{"name": "tokens_per_second", "better": "higher", "unit": "tok/s"},
                    {"name": "ttft_ms", "better": "lower", "unit": "ms"}],
        "matters": 2.0, "budget": {"runs": 60, "minutes": 70}, "seed": RUN, "blocks": 10,
        "arms": [
            arm("thp_enabled", "thp_enabled", "sysfs:/sys/kernel/mm/transparent_hugepage/enabled", "always",
                tokens_per_second=HELPS, ttft_ms=LOWERS),
            arm("swappiness", "swappiness", "sysctl:vm.swappiness", "10", tokens_per_second=NOTHING, ttft_ms=OPEN),
            arm("numa_balancing", "numa_balancing", "sysctl:kernel.numa_balancing", "0", tokens_per_second=HURTS,
                ttft_ms=FEW)],
        "runs": [run(1, None, 80.1, arm=None, block=0), run(2, "A", 100.0), run(3, "B", 112.0, temperature=74),
                 run(4, "B", 113.0, block=2), run(5, "A", 70.0, block=2, discarded=TOO_HOT)],
        "discarded": 1, "left_out": [{"address": "module:nvidia_peermem", "reason": "modules are compared as a whole"}],
        "end_state": "before", "ended": "all blocks were measured", "state": {"sysctl:vm.swappiness": "60"},
        "drift": [],
    } | more
