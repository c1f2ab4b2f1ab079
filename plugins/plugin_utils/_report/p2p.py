# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The peer access between the NVIDIA GPUs of a host, as a matrix for the report."""
from __future__ import annotations

from typing import Any

from .._derive.not_recorded import Gap, recorded, with_gaps
from .._derive.paths.p2p import peer_to_peer
from .._derive.paths.transfers import of_ability
from .._render.text import code, count, table

_RELATIONS = {
    "same_switch": ("switch", "below one switch or port: transfers can stay below it"),
    "same_root_complex": ("bridge", "on one host bridge: transfers go through it"),
    "same_socket": ("socket", "on one socket, through the processor's fabric"),
    "across": ("across", "on two sockets, through the socket interconnect"),
    "unknown": ("?", "no NUMA node is known"),
}
_FOLLOWS = {
    "direct": ("direct", "are direct: neither translated nor redirected"),
    "detour": ("detour", "are redirected to the root complex by ACS instead of staying within the switch"),
    "translated": ("translated", "are translated by the IOMMU, which CUDA does not support on bare metal"),
    "may_hang": ("may hang", "are translated by the IOMMU and redirected by ACS: collectives may hang"),
    "unknown": ("unknown", "are unknown: registers of a port or the type of a group could not be read"),
}


def p2p_section(facts: dict[str, Any]) -> list[str]:
    """The matrix, its legend, and the ports that redirect; empty for a host with fewer than two such GPUs."""
    given = with_gaps(facts)
    known = recorded(lambda: _peers(given))
    if isinstance(known, Gap) or not known[1]["wanted"]:
        return []
    peers, found = known
    pairs = found["pairs"]
    outcomes = [outcome for outcome in _FOLLOWS if any(pair["follows"] == outcome for pair in pairs)]
    lines = ["## How GPUs reach each other", "", *_matrix([gpu["bdf"] for gpu in peers], pairs, len(outcomes) > 1), ""]
    lines += [f"- {word}: {meaning}" for relation, (word, meaning) in _RELATIONS.items()
              if any(pair["relation"] == relation for pair in pairs)]
    lines += [f"- {_those(outcome, pairs, outcomes)} {_FOLLOWS[outcome][1]}" for outcome in outcomes]
    return [*lines, *_places(found), ""]


def _peers(facts: dict[str, Any]) -> tuple[list[dict], dict[str, Any]]:
    """The GPUs with peers, and the facts about their transfers. Raises NotRecorded."""
    peers = of_ability(facts, facts["gpus"])[0]
    return peers, peer_to_peer(peers, facts)


def _matrix(names: list[str], pairs: list[dict], mixed: bool) -> list[str]:
    """A matrix with a row and a column for each GPU; cells show the outcome only if it differs between pairs."""
    cells = {}
    for pair in pairs:
        text = _RELATIONS[pair["relation"]][0]
        if mixed and pair["follows"] != "direct":
            text += f", {_FOLLOWS[pair['follows']][0]}"
        cells[pair["a"], pair["b"]] = cells[pair["b"], pair["a"]] = text
    rows = [[code(row), *(cells.get((row, column), "-") for column in names)] for row in names]
    return table(("", *map(code, names)), rows)


def _those(outcome: str, pairs: list[dict], outcomes: list[str]) -> str:
    if len(outcomes) == 1:
        return f"transfers of {'all ' if len(pairs) > 1 else ''}{count(len(pairs), 'pair')}"
    return f"{_FOLLOWS[outcome][0]}: transfers of {count(sum(pair['follows'] == outcome for pair in pairs), 'pair')}"


def _places(found: dict[str, Any]) -> list[str]:
    lines = ["- connected by NVLink for peer traffic; PCI Express is used for network cards"] if found[
        "nvlink"] else []
    kinds = sorted({kind or "none" for pair in found["pairs"] for kind in pair["types"]})
    lines += [f"- type of their IOMMU groups: {', '.join(map(code, kinds))}"]
    if found["redirect_ports"]:
        lines.append(f"- ports between them that redirect: {', '.join(map(code, found['redirect_ports']))}")
    return lines
