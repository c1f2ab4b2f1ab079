# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the results of gpu_bandwidth with those of nvbandwidth."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_GPU_WAYS, _PAIR_WAYS = ("h2d", "d2h", "d2d"), ("read", "write")


def compare(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`[{what, ours, nvbandwidth, percent}]` in GB/s, for what both results contain; `percent` of nvbandwidth's."""
    other = dict(_figures(theirs))
    return [{"what": what, "ours": rate, "nvbandwidth": other[what], "percent": round(100 * rate / other[what], 1)}
            for what, rate in _figures(ours) if other.get(what)]


def _figures(answer: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for gpu in answer.get("gpus", []):
        yield from ((f"{gpu['bdf']} {way}", gpu[way]["gb_s"]) for way in _GPU_WAYS if gpu[way])
    for pair in answer.get("pairs", []):
        yield from ((f"{pair['from']} -> {pair['to']} {way}", pair[way]["gb_s"]) for way in _PAIR_WAYS if pair[way])


def unproven(report: Mapping[str, Any]) -> list[str]:
    """A line with the result of each part of the run."""
    compared = report["comparison"]
    apart = sum(not 90 <= one["percent"] <= 110 for one in compared)
    return [
        _of_functions(report["functions"]), *_of_bandwidth(report["bandwidth"]),
        _line("nvbandwidth", report["nvbandwidth"], f"{len(compared)} figures compared, {apart} more than 10 % apart"),
        _line("hang", report["hang"], "a process that waits in the driver was killed after {limit} s, {after}"),
        _line("audit", report["audit"], "{failing}"), _line("experiment", report["experiment"], "{ended}; {said}")]


def _of_functions(functions: Mapping[str, Any]) -> str:
    missing = sorted(name for name, symbol in functions.items() if symbol is None)
    return _line("functions", functions, f"{len(functions) - len(missing)} of {len(functions)} are there"
                 + (f"; missing: {', '.join(missing)}" if missing else ""))


def _of_bandwidth(bandwidth: Mapping[str, Any]) -> list[str]:
    if "problem" in bandwidth:
        return [_line("bandwidth", bandwidth, "")]
    verdicts = [one["verdict"] for one in [*bandwidth["gpus"], *bandwidth["pairs"], *bandwidth["concurrent"]]]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in sorted(set(verdicts)))
    stopped = f"; stopped: {bandwidth['stopped']}" if bandwidth["stopped"] else ""
    held = [pair["write"]["latency_us"] for pair in bandwidth["pairs"] if pair["write"]]
    return [f"bandwidth: {counts or 'nothing'}{stopped}",
            f"latency in a held stream: {', '.join(f'{one} us' for one in held) or 'no pair to measure it'}"]


def _line(name: str, part: Mapping[str, Any], text: str) -> str:
    return f"{name}: {part['problem']}" if "problem" in part else f"{name}: {text.format(**part)}"
