# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The facts of a host as single values, each with its path in the schema and the list items that contain it."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from .rules import Rules


class Leaf(NamedTuple):
    """`fact` is a path, `gpus[].pcie.link.width`, `entity` the names of the items along it: `("0000:01:00.0",)`."""

    fact: str
    entity: tuple[str, ...]


class Unread(NamedTuple):
    """Placeholder for a value that an audit does not have."""

    status: str


THERE = "there"


def leaves(facts: Mapping[str, Any], rules: Rules) -> dict[Leaf, Any]:
    """Every value by its leaf; a list item is a leaf too, with the value `there`."""
    found: dict[Leaf, Any] = {}
    _walk(facts, "", (), rules, found)
    return found


def _walk(thing: Any, fact: str, entity: tuple[str, ...], rules: Rules, found: dict[Leaf, Any]) -> None:
    if isinstance(thing, Mapping):
        if thing.keys() == {"status", "value"}:
            if thing["status"] == "ok":
                _walk(thing["value"], fact, entity, rules, found)
            else:
                found[Leaf(fact, entity)] = Unread(thing["status"])
            return
        for name, part in thing.items():
            _walk(part, f"{fact}.{name}" if fact else str(name), entity, rules, found)
    elif isinstance(thing, list) and any(isinstance(item, Mapping) for item in thing):
        _walk_items(thing, fact, entity, rules, found)
    elif isinstance(thing, list):
        found[Leaf(fact, entity)] = tuple(map(str, thing))
    else:
        found[Leaf(fact, entity)] = rules.comparable(fact, thing)


def _walk_items(items: list[Any], fact: str, entity: tuple[str, ...], rules: Rules, found: dict[Leaf, Any]) -> None:
    seen: Counter[str] = Counter()
    for number, item in enumerate(items):
        name = (rules.key(fact, item) if isinstance(item, Mapping) else None) or f"number {number + 1}"
        seen[name] += 1
        inside = (*entity, name if seen[name] == 1 else f"{name} ({seen[name]})")
        found[Leaf(f"{fact}[]", inside)] = THERE
        _walk(item, f"{fact}[]", inside, rules, found)


def parent(leaf: Leaf) -> Leaf | None:
    """The parent of a leaf: `gpus[].pcie.link` for `gpus[].pcie.link.width`; None for a section of the facts."""
    fact, entity = leaf
    if fact.endswith("[]"):
        return Leaf(fact[:-2], entity[:-1])
    head, dot, _name = fact.rpartition(".")
    return Leaf(head, entity) if dot else None
