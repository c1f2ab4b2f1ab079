# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""RDMA ports compared with others of their kind, to find ports that are down or slow.

Linux does not show a card's rated speed, or whether a second port is meant to be used. Ports are compared with those of
the same model, on the same function and with the same lanes to the host.
"""
from __future__ import annotations

import re
from collections import Counter
from typing import Any

from .network import expected_width
from .reading import hidden, known, lost, value

_RATE = re.compile(r"(\d+(?:\.\d+)?) Gb/sec(?: \((\d+)X (\w+)\))?")
# enum ib_port_state and enum ib_port_phys_state, include/rdma/ib_verbs.h
_DOWN, _CONFIGURING, _ACTIVE = (1, 0), (2, 3), (4, 5)
_SWITCHED_OFF = 3


def rdma_ports(facts: dict[str, Any], cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry per port of `cards`, the result of rdma_cards(); see the schema."""
    judged = {card["name"] for card in cards}
    ports = [_port(device, port) for device in facts["rdma"]["devices"] if device["name"] in judged
             for port in device["ports"]]
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for port in ports:
        groups.setdefault(port["alike"], []).append(port)
    return [{**{key: port[key] for key in ("subject", "bdf", "state", "physical", "switched_off")},
             **_beside(port, groups[port["alike"]]), **_rate(port, groups[port["alike"]])} for port in ports]


def _port(device: dict[str, Any], port: dict[str, Any]) -> dict[str, Any]:
    number, rate = _number(port["state"]), _RATE.match(value(port["rate"]) or "")
    physical = port.get("phys_state", lost("absent"))
    several = len(device["ports"]) > 1
    return {
        "subject": f"nic:{device['name']}" + (f" port {port['port']}" if several else ""), "bdf": device["bdf"],
        "alike": (device["vendor"], device.get("model"), device["bdf"].rpartition(".")[2], port["port"],
                  expected_width(device)),
        "number": number, "state": port["state"], "physical": value(physical),
        "switched_off": _number(physical) == _SWITCHED_OFF and number in _DOWN,
        "infiniband": value(port["link_layer"]) == "InfiniBand",
        "gbps": _gbps(rate[1]) if rate and number in _ACTIVE else None,
        "lanes": int(rate[2]) if rate and rate[2] else None, "generation": rate[3] if rate else None,
        "rate": port["rate"],
    }


def _gbps(text: str) -> float:
    """The rate in Gb/s: a whole number such as 200, or 2.5."""
    return float(text) if "." in text else int(text)


def _number(reading: dict[str, Any]) -> int | None:
    found = re.match(r"(\d+):", value(reading) or "")
    return int(found[1]) if found else None


def _beside(port: dict[str, Any], alike: list[dict[str, Any]]) -> dict[str, Any]:
    """Whether the port's state can be checked, what it should be, and how many of its kind are up."""
    up = sum(1 for one in alike if one["number"] in _ACTIVE)
    down = port["number"] in _DOWN
    words = f"{up} of {len(alike)} similar ports are up"
    # The subnet manager activates an InfiniBand port; without one the port stays in its link state.
    waits = port["infiniband"] and port["number"] in _CONFIGURING
    return {"up": up, "like": words, "judged": not down or up > 0, "waits_for_manager": waits,
            "missed": waits or (down and not port["switched_off"] and 2 * up > len(alike))}


def _rate(port: dict[str, Any], alike: list[dict[str, Any]]) -> dict[str, Any]:
    """`gbps` and `expected_gbps`, readings that are absent while the port is not up, and `slow` in words.

    Expected is the rate of most others of the kind; in a tie, the faster one. An InfiniBand port that trained to one
    lane or to the first generation is slow whatever the others do: on current cards a bad cable is the cause.
    """
    if port["gbps"] is None:
        status = port["rate"]["status"] if port["rate"]["status"] != "ok" else "absent"
        return {"gbps": lost(status), "expected_gbps": lost(status), "slow": None}
    counts = Counter(one["gbps"] for one in alike if one["gbps"] is not None)
    usual = max(counts, key=lambda gbps: (counts[gbps], gbps))
    slow = None
    if port["infiniband"] and port["lanes"] == 1:
        slow = "only one of four lanes is up"
    elif port["infiniband"] and port["generation"] == "SDR":
        slow = "it trained to the first generation of InfiniBand"
    elif port["gbps"] < usual:
        slow = f"{counts[usual]} of its kind {'runs' if counts[usual] == 1 else 'run'} at {usual:g} Gb/s"
    unseen = hidden(one[fact] for one in alike for fact in ("state", "rate"))
    if unseen and not slow:
        return {"gbps": lost(unseen), "expected_gbps": lost(unseen), "slow": None}
    return {"gbps": known(port["gbps"]), "expected_gbps": known(max(usual, port["gbps"])), "slow": slow}
