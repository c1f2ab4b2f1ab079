# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""How the NVIDIA GPUs of a host reach each other, and obstacles to peer-to-peer transfers."""
from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import combinations
from typing import Any

from ..packages import Places, places, same_package
from ..reading import value
from .pcie import redirects
from .translation import translates, translation_is_wanted

# Boards whose GPUs are connected by NVLink and NVSwitches: SXM modules and their successors. Cards of the same
# generations are called PCIe or NVL. On Blackwell boards the switches are not PCI devices.
_ON_A_BOARD = re.compile(r"\b(?:SXM\d?|HBM3e?|GH200|H200|H20|G?B[23]00)\b(?!.*\b(?:NVL|PCIe)\b)")


def peer_to_peer(gpus: list[dict], facts: dict[str, Any]) -> dict[str, Any]:
    """The peer-to-peer paths between `gpus`, those that this host's nvidia driver serves.

    A pair is at risk if the IOMMU translates the addresses of either GPU *and* a port between the two redirects: then
    transfers go through the IOMMU and may hang. None if a port's ACS or a group's type could not be read.
    """
    ports, known = {port["bdf"]: port for port in facts["ports"]}, places(facts)
    wanted = translation_is_wanted(facts)
    pairs = [_pair(one, other, ports, known, wanted) for one, other in combinations(gpus, 2)]
    redirecting = sorted({bdf for pair in pairs for bdf in pair["redirect"]})
    found = {
        "translated": any_of(pair["translated"] for pair in pairs),
        "at_risk": any_of(pair["at_risk"] for pair in pairs),
        "detour": any_of(pair["redirected"] for pair in pairs if pair["relation"] == "same_switch"),
    }
    nvlink = bool(facts["pcie"]["nvswitches"]) or (
        bool(gpus) and all(_ON_A_BOARD.search(gpu["model"] or "") for gpu in gpus))
    return {"gpus": len(gpus), "wanted": len(gpus) > 1, "nvlink": nvlink, "pairs": pairs,
            "redirect_ports": redirecting, **found, "state": worst(**found)}


def worst(translated: bool | None, at_risk: bool | None, detour: bool | None) -> str | None:
    """The outcome for a transfer between two devices; None if an unknown value could make it worse."""
    if at_risk:
        return "translated and redirected"
    if at_risk is None or translated is None:
        return None
    if translated:
        return "translated"
    return None if detour is None else "redirected" if detour else "direct"


def _pair(one: dict, other: dict, ports: dict[str, dict], known: Places, translation_wanted: bool) -> dict[str, Any]:
    between = _between(one["path"], other["path"])
    answers = {bdf: redirects(ports[bdf]) if bdf in ports else None for bdf in between}
    related = relation(one, other, known)
    redirected = any_of(answers.values())
    translated = False if translation_wanted else any_of(translates(gpu["iommu_type"]) for gpu in (one, other))
    at_risk = all_of((translated, redirected))
    return {"a": one["bdf"], "b": other["bdf"], "relation": related,
            "meet": next((bdf for bdf in one["path"] if bdf in other["path"]), None),
            "types": [value(gpu["iommu_type"]) for gpu in (one, other)],
            "redirect": [bdf for bdf in between if answers[bdf]], "redirected": redirected, "translated": translated,
            "at_risk": at_risk, "follows": _follows(related, redirected, translated, at_risk)}


def _follows(related: str, redirected: bool | None, translated: bool | None, at_risk: bool | None) -> str:
    """The outcome for a transfer between two GPUs. Redirection without translation slows only pairs that share a
    switch: other transfers go through the root anyway."""
    if at_risk:
        return "may_hang"
    if at_risk is None or translated is None:
        return "unknown"
    if translated:
        return "translated"
    if related != "same_switch":
        return "direct"
    return {True: "detour", False: "direct", None: "unknown"}[redirected]


def relation(one: dict, other: dict, known: Places) -> str:
    """same_switch, same_root_complex (one host bridge), same_socket (one processor package), across, or unknown."""
    if set(one["path"]) & set(other["path"]):
        return "same_switch"
    if one["path"] and other["path"] and _bus(one["path"][-1]) == _bus(other["path"][-1]):
        return "same_root_complex"
    nodes = [value(gpu["numa_node"]) for gpu in (one, other)]
    if None not in nodes and min(nodes) >= 0:
        return {True: "same_socket", False: "across", None: "unknown"}[same_package(*nodes, known)]
    return "same_socket" if known.sockets == 1 else "unknown"


def _between(one: list[str], other: list[str]) -> list[str]:
    """The ports that a transfer passes below the first port which both GPUs share."""
    return [bdf for bdf in one if bdf not in other] + [bdf for bdf in other if bdf not in one]


def _bus(bdf: str) -> str:
    return bdf.rpartition(":")[0]


def any_of(answers: Iterable[bool | None]) -> bool | None:
    """Three-valued or: None if the unknown ones decide."""
    answers = list(answers)
    return True if True in answers else None if None in answers else False


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Three-valued and."""
    answers = list(answers)
    return False if False in answers else None if None in answers else True
