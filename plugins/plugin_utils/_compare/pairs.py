# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Match the devices of two hosts: identical machines may have their cards at different PCI addresses."""
from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from .._checks.findings import value


class Device(NamedTuple):
    """`alike` must be equal for two devices to match; `order` is the position on the host."""

    name: str
    alike: Hashable
    order: tuple[Any, ...]


class Pairs:
    """Translates names of the second host to those of the first; `other` marks a name that is taken there."""

    def __init__(self, names: Mapping[str, str], taken: Iterable[str], other: str) -> None:
        """`names` by those of the second host; `taken` are names of the second host without a counterpart."""
        used = set(names.values())
        self.names = {**names, **{name: f"{name} of {other}" for name in taken if name in used}}
        moved = sorted((name for name, first in self.names.items() if name != first), key=len, reverse=True)
        self._pattern = re.compile(
            r"(?<![0-9A-Za-z:.])(?:" + "|".join(map(re.escape, moved)) + r")(?![0-9A-Za-z:])") if moved else None

    @property
    def moved(self) -> dict[str, str]:
        """`{name on the first host: name on the second}` where the two differ."""
        return {first: name for name, first in sorted(self.names.items(), key=lambda pair: pair[1])
                if name != first and not first.startswith(f"{name} of ")}

    def translate(self, thing: Any) -> Any:
        """`thing` of the second host, plain JSON, with the names of the first host."""
        if self._pattern is None:
            return thing
        if isinstance(thing, str):
            return self._pattern.sub(lambda found: self.names[found[0]], thing)
        if isinstance(thing, Mapping):
            return {self.translate(key): self.translate(part) for key, part in thing.items()}
        return [self.translate(part) for part in thing] if isinstance(thing, list) else thing


def pairs(first: Mapping[str, Any], second: Mapping[str, Any], other: str, same_host: bool) -> Pairs:
    """Match by the facts of both; on one host nothing has moved."""
    if same_host:
        return Pairs({}, (), other)
    names: dict[str, str] = {}
    unmatched: list[str] = []
    for ours, theirs in ((_gpus(first), _gpus(second)), (_cards(first), _cards(second))):
        _match(ours, theirs, names, unmatched)
    _match_paths(first, second, names)
    _match([port for port in _ports(first) if port.name not in names.values()],
           [port for port in _ports(second) if port.name not in names], names, unmatched)
    _match_interfaces(first, second, names)
    return Pairs(names, unmatched, other)


def _match(ours: list[Device], theirs: list[Device], names: dict[str, str], unmatched: list[str]) -> None:
    for alike in dict.fromkeys(device.alike for device in theirs):
        here = sorted((device for device in ours if device.alike == alike), key=lambda device: device.order)
        there = sorted((device for device in theirs if device.alike == alike), key=lambda device: device.order)
        known, found = {device.name for device in here}, {device.name for device in there}
        if known <= found or found <= known:        # one may have lost some devices, and none has moved
            names.update({name: name for name in known & found})
            unmatched += sorted(found - known)
        else:
            names.update({device.name: counterpart.name for device, counterpart in zip(there, here)})
            unmatched += [device.name for device in there[len(here):]]


def _match_paths(first: Mapping[str, Any], second: Mapping[str, Any], names: dict[str, str]) -> None:
    """Match the ports above a device with those above its counterpart."""
    above = {gpu["bdf"]: gpu["path"] for gpu in first["gpus"]}
    for gpu in second["gpus"]:
        counterpart = above.get(names.get(gpu["bdf"], ""), [])
        if len(counterpart) == len(gpu["path"]):
            for port, ours in zip(gpu["path"], counterpart):
                if ours not in names.values():
                    names.setdefault(port, ours)


def _match_interfaces(first: Mapping[str, Any], second: Mapping[str, Any], names: dict[str, str]) -> None:
    """Match network interfaces, which are often named after the slot of their card."""
    ours = {one["bdf"]: one["name"] for one in value(first["network"]["interfaces"], []) if one["bdf"]}
    known = {one["name"] for one in value(first["network"]["interfaces"], [])}
    for one in value(second["network"]["interfaces"], []):
        counterpart = ours.get(names.get(one["bdf"], one["bdf"]) or "")
        if counterpart and one["name"] != counterpart and one["name"] not in known:
            names[one["name"]] = counterpart


def _gpus(facts: Mapping[str, Any]) -> list[Device]:
    return [Device(gpu["bdf"], (gpu["vendor"], gpu["device"], gpu["virtual_function"]), _order(gpu))
            for gpu in value(facts["gpus"], [])]


def _cards(facts: Mapping[str, Any]) -> list[Device]:
    """RDMA devices and network cards, without duplicates."""
    found = {one["bdf"]: Device(one["bdf"], ("network", one["driver"]), _order(one))
             for one in value(facts["network"]["interfaces"], []) if one["bdf"]}
    for one in value(facts["rdma"]["devices"], []):
        found.setdefault(one["bdf"], Device(one["bdf"], ("rdma", one["vendor"], one["model"]), _order(one)))
    return list(found.values())


def _ports(facts: Mapping[str, Any]) -> list[Device]:
    return [Device(port["bdf"], (port["vendor"], port["device"], port["class"]), _order(port))
            for port in value(facts["ports"], [])]


def _order(device: Mapping[str, Any]) -> tuple[Any, ...]:
    node = value(device.get("numa_node"))
    return (-1 if node is None else node, device["bdf"] or "")
