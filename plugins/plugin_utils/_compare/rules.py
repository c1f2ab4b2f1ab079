# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""catalogue/compare.yml: which facts are never a difference by themselves and why, and the keys of list items."""
from __future__ import annotations

import functools
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

FILE = pathlib.Path(__file__).parents[1] / "catalogue" / "compare.yml"


class Rules:
    """`same_host`: the two audits are of the same host at different times."""

    def __init__(self, data: Mapping[str, Any], same_host: bool) -> None:
        groups = [*data["varies"], *(() if same_host else data["varies_between_hosts"])]
        self._why = {fact: group["why"] for group in groups for fact in group["facts"]}
        self._items = {} if same_host else {f"{name}[]": frozenset(items)
                                            for name, items in data["items_between_hosts"].items()}
        self._rounded = {fact: rule for rule in data["rounded"] for fact in rule["facts"]}
        self._keys, self._keys_of = data["keys"], data["keys_of"]
        self.judged_by: dict[str, list[str]] = data["judged_by"]
        self._known: dict[str, str | None] = {}

    def why_it_varies(self, fact: str, entity: tuple[str, ...]) -> str | None:
        """Why a fact (of a certain item if it is in a list) is not compared; None if it is compared."""
        for items, names in self._items.items():
            if entity and fact.startswith(items) and entity[0] in names:
                return "it names this one machine or part"
        if fact not in self._known:
            self._known[fact] = next((why for name, why in self._why.items() if is_below(fact, name)), None)
        return self._known[fact]

    def comparable(self, fact: str, value: Any) -> Any:
        """The value in the form that is compared and shown."""
        rule = self._rounded.get(fact)
        if rule is None or isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        return f"{round(value / rule['to'])} {rule['unit']}"

    def key(self, fact: str, item: Mapping[str, Any]) -> str | None:
        """The key of an item of the list `fact`; None if it has none."""
        names = [self._keys_of[fact]] if fact in self._keys_of else self._keys
        return next((str(item[name]) for name in names if isinstance(item.get(name), (str, int))), None)


def is_below(fact: str, name: str) -> bool:
    """Whether `fact` is `name` or part of it: `gpus[].pcie.link` of `gpus[].pcie`, `gpus[].pcie` of `gpus`. `gpus[]` is
    a whole item of the list."""
    if name.endswith("[]"):
        return fact == name
    return fact.startswith(name) and fact[len(name):len(name) + 1] in ("", ".", "[")


def below_any(fact: str, names: Iterable[str]) -> bool:
    return any(is_below(fact, name) for name in names)


@functools.cache
def data() -> dict[str, Any]:
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


def rules(same_host: bool) -> Rules:
    return Rules(data(), same_host)


def plain_rules() -> Rules:
    """Only the keys of items: nothing varies and nothing is rounded."""
    return Rules({**data(), "varies": [], "items_between_hosts": {}, "rounded": []}, same_host=True)
