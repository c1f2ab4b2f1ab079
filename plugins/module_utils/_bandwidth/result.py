# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Build the records of gpuhost.bandwidth/1 for GPUs, pairs and concurrent copies, with their verdicts.

An answer of the measuring child may come from a container: every value is checked before use. The verdict `slow` is
given here only to a GPU whose link under load is below what both ends support. Whether a bandwidth is as expected is
decided on the controller, which knows the path.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

HEALTHY, SLOW, WRONG_DATA = "healthy", "slow", "wrong_data"
HANG, UNSUPPORTED, INCONCLUSIVE = "hang", "unsupported", "inconclusive"
BOTH_WAYS, HOST_BOTH_WAYS, SHIFT, BY_KERNEL = "both_ways", "host_both_ways", "shift", "by_kernel"
STAGED = "staged"       # through host memory, as the driver provides no peer access
VERDICTS = (HEALTHY, SLOW, WRONG_DATA, HANG, STAGED, UNSUPPORTED, INCONCLUSIVE)

SPLIT = "MIG is enabled"
NO_MEASUREMENT = "the measuring process returned no valid measurement"
_TEXT_LIMIT = 200
_WRONG_SHOWN = 8


def empty_gpu(gpu: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a GPU before its measurement; `gpu` is from gpus.choose()."""
    return {"bdf": gpu["bdf"], "uuid": gpu["uuid"], "name": None, "numa_node": None, "bound": None, "verdict": None,
            "said": None, "h2d": None, "d2h": None, "d2d": None, "link": None, "link_expected": gpu["link_expected"],
            "copies": 0, "wrong": []}


def empty_pair(bdf: str, peer: str) -> dict[str, Any]:
    return {"from": bdf, "to": peer, "can_access": None, "enabled": None, "performance_rank": None,
            "native_atomics": None, "verdict": None, "said": None, "read": None, "write": None, "copies": 0,
            "wrong": []}


def empty_group(kind: str, name: str, bdfs: Iterable[str], flows: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The record of concurrent copies before their measurement: `kind` as above, `flows` are (from, to)."""
    return {"kind": kind, "name": name, "gpus": list(bdfs), "verdict": None, "said": None, "gb_s": None, "copies": 0,
            "flows": [{"from": source, "to": target, "gb_s": None} for source, target in flows], "wrong": []}


def judged(record: dict[str, Any], verdict: str, message: str) -> dict[str, Any]:
    return {**record, "verdict": verdict, "said": message}


def gpu_record(record: dict[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a measured GPU. ValueError if the child's answer is malformed."""
    found = {**record, "name": _text_or_none(answer["name"]),
             "uuid": _text_or_none(answer["uuid"]) or record["uuid"],
             "numa_node": _whole(answer["numa_node"]) if answer["numa_node"] is not None else None,
             "bound": bool(answer["bound"])}
    if answer.get("split"):
        return {**judged(found, INCONCLUSIVE, SPLIT), "split": True}
    if not answer["sizes"]:
        return judged(found, INCONCLUSIVE, "no size fits in 5% of its free memory and of the host's")
    link = answer["link"]
    found |= {name: _direction(answer[name]) for name in ("h2d", "d2h", "d2d")}
    found |= {**_inspected(answer), "link": None if link is None else {
        "speed_gt_s": _number(link["speed_gt_s"]), "width": _whole(link["width"])}}
    return judged(found, *_judge_gpu(found))


def _judge_gpu(found: dict[str, Any]) -> tuple[str, str]:
    if found["wrong"]:
        return WRONG_DATA, _describe_wrong(found["wrong"])
    rough = [name for name in ("h2d", "d2h", "d2d") if not found[name]["settled"]]
    if rough:
        return INCONCLUSIVE, f"{', '.join(rough)} did not converge: consecutive measurements kept differing"
    link, most = found["link"], found["link_expected"]
    if link and most and (link["speed_gt_s"] < most["speed_gt_s"] or link["width"] < most["width"]):
        return SLOW, f"the link runs at {_describe_link(link)} under load, but both ends support {_describe_link(most)}"
    rates = ", ".join(f"{name} {found[name]['gb_s']:g}" for name in ("h2d", "d2h", "d2d"))
    return HEALTHY, f"{rates} GB/s, {_arrived(found)}"


def pair_record(record: dict[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a measured pair. ValueError if the child's answer is malformed."""
    rank, atomics = answer["performance_rank"], answer["native_atomics"]
    found = {**record, "can_access": bool(answer["can_access"]), "enabled": bool(answer["enabled"]),
             "performance_rank": None if rank is None else _whole(rank),
             "native_atomics": None if atomics is None else bool(atomics)}
    if not answer["sizes"]:
        return judged(found, INCONCLUSIVE, "no size fits in 5% of the free memory of both")
    found |= {name: {**_direction(answer[name]), **_latency(answer[name])} for name in ("read", "write")}
    found |= _inspected(answer)
    if found["wrong"]:
        return judged(found, WRONG_DATA, _describe_wrong(found["wrong"]))
    rough = [name for name in ("read", "write") if not found[name]["settled"]]
    if rough:
        return judged(found, INCONCLUSIVE, f"{', '.join(rough)} did not converge: consecutive measurements kept "
                                           "differing")
    rates = ", ".join(f"{name} {found[name]['gb_s']:g}" for name in ("read", "write"))
    if not found["enabled"]:
        return judged(found, STAGED, f"the driver allows no peer access from {found['from']} to {found['to']}, so "
                                     f"copies go through the host's memory: {rates} GB/s, {_arrived(found)}")
    return judged(found, HEALTHY, f"{rates} GB/s, {_arrived(found)}")


def group_record(record: dict[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """The record of measured concurrent copies. ValueError if the child's answer is malformed."""
    if not answer["sizes"]:
        return judged(record, INCONCLUSIVE, "no size fits in 5% of the free memory of all")
    missing = [(_text(source), _text(target)) for source, target in answer.get("missing") or []]
    flows = [flow for flow in record["flows"] if (flow["from"], flow["to"]) not in missing]
    without = "; ".join(f"the driver allows no peer access from {source} to {target}" for source, target in missing[
        :_WRONG_SHOWN])
    if len(flows) < min(2, len(record["flows"])):
        return judged(record, UNSUPPORTED, without)
    rates = [_number(rate) for rate in answer["ways"]]
    if len(rates) != len(flows):
        raise ValueError(f"{len(rates)} figures for {len(flows)} copies")
    found = {**record, **_inspected(answer), "gb_s": _number(answer["gb_s"]),
             "flows": [{**flow, "gb_s": rate} for flow, rate in zip(flows, rates)]}
    if found["wrong"]:
        return judged(found, WRONG_DATA, _describe_wrong(found["wrong"]))
    if not answer["settled"]:
        return judged(found, INCONCLUSIVE, "it did not converge: consecutive measurements kept differing")
    left_out = f"; left out: {without}" if without else ""
    if record["kind"] == BY_KERNEL:
        return judged(found, HEALTHY, f"{found['gb_s']:g} GB/s, {_arrived(found)}")
    return judged(found, HEALTHY, f"{found['gb_s']:g} GB/s together, the slowest {min(rates):g}, {_arrived(found)}"
                                  f"{left_out}")


def sizes_left_out(bdf: str, sizes: list[int], answer: Mapping[str, Any]) -> dict[str, str] | None:
    """The entry of not_measured for sizes that would have taken too much memory."""
    left = [size for size in sizes if size not in answer.get("sizes", sizes)]
    reason = f"{', '.join(map(str, left))} bytes: more than 5% of the free memory of the GPU or of the host"
    return {"subject": bdf, "reason": reason} if left else None


def _direction(found: Mapping[str, Any]) -> dict[str, Any]:
    rows = [{"bytes": _whole(row["bytes"]), "gb_s": _number(row["gb_s"]), "settled": bool(row["settled"])}
            for row in found["by_size"]]
    return {"gb_s": _number(found["gb_s"]), "settled": bool(found["settled"]), "by_size": rows}


def _latency(found: Mapping[str, Any]) -> dict[str, Any]:
    """The latency in us, or why there is none."""
    if found["latency_us"] is None:
        return {"latency_us": None, "latency_why": _text(found["latency_why"])}
    return {"latency_us": _number(found["latency_us"]), "latency_why": None}


def _inspected(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {"copies": _whole(answer.get("copies", 0)), "wrong": _wrong(answer["wrong"])}


def _wrong(found: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    numbers, counts = ("first_offset", "wrong_bytes", "bytes"), ("wrong_copies", "copies")
    return [{"copied": _text(one["copied"]), **{key: _whole(one[key]) for key in numbers},
             **{key: _whole(one.get(key, 1)) for key in counts}} for one in found[:_WRONG_SHOWN]]


def _describe_wrong(wrong: list[dict[str, Any]]) -> str:
    return "; ".join(f"{one['copied']}: {one['wrong_copies']} of {one['copies']} copies were corrupted, in the first "
                     f"of them {one['wrong_bytes']} of {one['bytes']} bytes from offset {one['first_offset']} on"
                     for one in wrong)


def _arrived(found: Mapping[str, Any]) -> str:
    return f"and the data of all {found['copies']} copies was correct"


def _describe_link(link: Mapping[str, Any]) -> str:
    return f"{link['speed_gt_s']:g} GT/s x{link['width']}"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value[:_TEXT_LIMIT]


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
        raise ValueError(f"{value!r} is no number from 0")
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 50:
        raise ValueError(f"{value!r} is no whole number from 0")
    return value
