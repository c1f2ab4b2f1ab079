# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Upper bounds for concurrent copies: copies that pass a link in the same direction share it.

        share of a link = rate of the link / copies that pass it in this direction

A copy is expected to reach the smallest share along its path. For pairs below one switch that path goes through the
switch only, so that a detour over the root shows as a shortfall. If one direction has no expectation on its own,
concurrent copies have none either. No figures are published for Intel root ports that carry both directions.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .._derive.gpus.coherent import coherent
from .._derive.paths.pcie import Hop, links
from .expected import (
    COMPLETION_HEADER,
    WRITE_HEADER,
    Expected,
    Pair,
    payload_gb_s,
    ports_of,
    ports_passed,
    smallest_payload,
    unknowable,
)

HOST = "host"
_UP, _DOWN = "up", "down"
Way = list[tuple[Hop, str]]


def of_flows(flows: Sequence[tuple[str, str]], facts: Mapping[str, Any],
             pairs: Mapping[tuple[str, str], Pair]) -> list[Expected]:
    """What each of these copies between a GPU and HOST, or two GPUs, can reach while all of them run."""
    gpus, ports = {gpu["bdf"]: gpu for gpu in facts["gpus"]}, ports_of(facts)
    ways = [_way(flow, gpus, ports, pairs) for flow in flows]
    sharing = Counter((hop.bdf, direction) for way, _devices in ways for hop, direction in way)
    return [_expected(flow, way, devices, sharing, _nothing(flow, facts, pairs))
            for flow, (way, devices) in zip(flows, ways)]


def _way(flow: tuple[str, str], gpus: Mapping[str, dict], ports: dict[str, dict],
         pairs: Mapping[tuple[str, str], Pair]) -> tuple[Way, list[dict]]:
    """The links that a copy passes, each with its direction, and the devices on its path; empty over NVLink."""
    source, target = (gpus.get(end) for end in flow)
    pair = pairs.get(flow)
    if pair is not None and pair.nvlink:
        return [], []
    whole = pair is None or pair.path != "same switch"
    way: Way = []
    devices: list[dict] = []
    for gpu, other, direction in ((source, target, _UP), (target, source, _DOWN)):
        if gpu is not None:
            above = ports_passed(gpu, other or gpu, ports, whole)
            way += [(hop, direction) for hop in links(gpu, above)]
            devices += [gpu, *above]
    return way, devices


def _nothing(flow: tuple[str, str], facts: Mapping[str, Any], pairs: Mapping[tuple[str, str], Pair]) -> str | None:
    """Why there is no expectation for a copy."""
    if HOST in flow:
        own = [coherent(gpu) for gpu in facts["gpus"] if gpu["bdf"] in flow]
        return next(filter(None, own), None) or unknowable(facts)
    pair = pairs.get(flow)
    if pair is None:
        return "the host no longer has this pair"
    if pair.expected.gb_s is None:
        return pair.expected.why
    if pair.through_intel and pair.path != "same switch":
        return "there is no published figure for concurrent copies between root ports of Intel processors"
    return None


def _expected(flow: tuple[str, str], way: Way, devices: list[dict], sharing: Counter, nothing: str | None) -> Expected:
    size = smallest_payload(devices) if devices else None
    if nothing or size is None or not way:
        return Expected(None, nothing or "the registers of a device on its path could not be read")
    header = COMPLETION_HEADER if flow[0] == HOST else WRITE_HEADER

    def share(step: tuple[Hop, str]) -> float:
        hop, direction = step
        return payload_gb_s(hop.speed_gts, hop.width, size, header) / sharing[hop.bdf, direction]

    narrowest = min(way, key=share)
    copies = sharing[narrowest[0].bdf, narrowest[1]]
    return Expected(round(share(narrowest), 1), f"{narrowest[0].speed_gts:g} GT/s x{narrowest[0].width} at "
                    f"{narrowest[0].bdf}" + (f", shared by {copies} copies" if copies > 1 else ""))
