# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Concurrent copies in a record: the rates reached and expected, and two faults that show only under such load.

If both directions of a pair below one switch together carry no more than one direction alone, transfers go over the
link above the switch, up and down again: a detour caused by ports that redirect (ACS). If GPUs below one switch write
behind several other root ports at once and carry less together than one of them alone, posted writes collapse.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils._bandwidth.result import BOTH_WAYS, BY_KERNEL, HEALTHY, SHIFT, SLOW
from .._derive.reading import value
from .._render.text import count, one_line
from .expected import PATHS, Expected, Pair, is_slow
from .expected_together import of_flows

PEER_CHECK = "iommu_acs"
# For copies between a GPU and the host in both directions, and for a shift: memory and processors have limits of their
# own, and published figures of healthy hosts are two thirds of what the links allow.
SLOW_BELOW_PERCENT_TOGETHER = 50


_BEYOND = (PATHS["across"], PATHS["unknown"])
# Their packets are as large as one store of a thread, not as large as a link allows.
_OF_KERNELS = Expected(None, "no value is expected for copies by a kernel")


class Host(NamedTuple):
    """What is known of a host for its concurrent copies; `alone` has the write rate in GB/s of each pair on its own."""

    facts: Mapping[str, Any]
    pairs: Mapping[tuple[str, str], Pair]
    alone: Mapping[tuple[str, str], float]
    percent: float


def make_group(one: Mapping[str, Any], host: Host) -> dict[str, Any]:
    """A group of the record from the module's answer."""
    flows = [(flow["from"], flow["to"]) for flow in one["flows"]]
    expected = of_flows(flows, host.facts, host.pairs) if one["kind"] != BY_KERNEL else [_OF_KERNELS]
    made = {**{name: one[name] for name in ("kind", "name", "gpus", "gb_s")},
            "flows": [{**{name: flow[name] for name in ("from", "to", "gb_s")}, "expected_gb_s": wanted.gb_s}
                      for flow, wanted in zip(one["flows"], expected)],
            "expected_gb_s": _sum(expected), "verdict": one["verdict"], "said": one["said"], "checks": []}
    if one["gb_s"] is None or one["verdict"] != HEALTHY:
        return {**made, "said": one_line(made["said"] or made["verdict"].replace("_", " "))}
    made |= {"said": _figures(made)}
    reasons, checks = _slow(made, host)
    if not reasons:
        return made
    return {**made, "verdict": SLOW, "said": one_line(f"{made['said']}; {'; '.join(reasons)}"), "checks": checks}


def _sum(expected: Sequence[Expected]) -> float | None:
    rates = [one.gb_s for one in expected]
    return None if None in rates or not rates else round(sum(rates), 1)


def _figures(made: Mapping[str, Any]) -> str:
    wanted = made["expected_gb_s"]
    together = f"{made['gb_s']:.1f} GB/s" if wanted is None else f"{made['gb_s']:.1f} of {wanted:.1f} GB/s expected"
    if made["kind"] == BY_KERNEL:
        return f"by a kernel {together}"
    slowest = min(made["flows"], key=lambda flow: flow["gb_s"])
    copies = count(len(made["flows"]), "concurrent copy", "concurrent copies")
    return f"{copies} {together}, the slowest {slowest['from']} -> {slowest['to']} {slowest['gb_s']:.1f}"


def _slow(made: Mapping[str, Any], host: Host) -> tuple[list[str], list[str]]:
    """Why the group is slow, and the checks that this concerns; both empty if it is not slow."""
    if made["kind"] == SHIFT:
        collapsed = _collapsed(made, host)
        if collapsed:
            return collapsed, []
        low = [flow for flow in made["flows"]
               if is_slow(flow["gb_s"], flow["expected_gb_s"], SLOW_BELOW_PERCENT_TOGETHER)]
        return [f"{flow['from']} -> {flow['to']} {flow['gb_s']:.1f} of {flow['expected_gb_s']:.1f} GB/s, its share of "
                "the links" for flow in low], []
    both = made["kind"] == BOTH_WAYS
    if not is_slow(made["gb_s"], made["expected_gb_s"], host.percent if both else SLOW_BELOW_PERCENT_TOGETHER):
        return [], []
    if both:
        return _of_both_ways(made, host.pairs[tuple(made["gpus"])])
    return ["the path between the GPU and the host's memory carries less than half of its links' bandwidth in both "
            "directions"], []


def _of_both_ways(made: Mapping[str, Any], pair: Pair) -> tuple[list[str], list[str]]:
    if pair.path != "same switch":
        checks = [PEER_CHECK] if pair.translated else []
        return [f"the IOMMU translates them (check {PEER_CHECK})" if checks else
                "they go through the root complex, which may be slower than the links"], checks
    where = f", as {', '.join(pair.redirect)} redirect{'s' if len(pair.redirect) == 1 else ''}" if pair.redirect else ""
    return [f"a detour: both directions go up and down the link above the switch{where} (check {PEER_CHECK})"], [
        PEER_CHECK]


def _collapsed(made: Mapping[str, Any], host: Host) -> list[str]:
    """A sentence for each switch whose GPUs carry less together than one of them alone.

    Writes to another processor share the link between processors with those of other switches. That link carries one
    copy at full speed, and a switch can count only on its share of it.
    """
    gpus = {gpu["bdf"]: gpu for gpu in host.facts["gpus"] if gpu["path"]}
    leaving: dict[str, list[tuple[str, str, float]]] = {}
    for flow in made["flows"]:
        ends = flow["from"], flow["to"]
        if all(end in gpus for end in ends) and _root(gpus[ends[0]]) != _root(gpus[ends[1]]):
            leaving.setdefault(_root(gpus[ends[0]]), []).append((*ends, flow["gb_s"]))
    found = []
    for root, flows in leaving.items():
        alone = [host.alone.get((source, target)) for source, target, _rate in flows]
        targets = {_root(gpus[target]) for _source, target, _rate in flows}
        if len(flows) < 2 or len(targets) < 2 or None in alone:
            continue
        together = sum(rate for _source, _target, rate in flows)
        if together < min(alone) * host.percent / 100 / _sharing(root, leaving, gpus, host.pairs):
            found.append(f"writes collapse: {len(flows)} GPUs below {root} write to GPUs behind {len(targets)} other "
                         f"root ports at once and reach {together:.1f} GB/s together; the slowest of them alone "
                         f"reaches {min(alone):.1f}")
    return found


def _root(gpu: Mapping[str, Any]) -> str:
    return gpu["path"][-1]


def _sharing(root: str, leaving: Mapping[str, Sequence[tuple[str, str, float]]], gpus: Mapping[str, Mapping[str, Any]],
             pairs: Mapping[tuple[str, str], Pair]) -> int:
    """How many switches of its node, the one below `root` included, send to another processor; 1 if it does not."""
    nodes = {one: value(gpus[flows[0][0]]["numa_node"]) for one, flows in leaving.items()
             if any(pairs[source, target].path in _BEYOND for source, target, _rate in flows)}
    return sum(node == nodes[root] for node in nodes.values()) if root in nodes else 1
