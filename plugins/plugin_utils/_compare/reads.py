# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The facts that a check evaluates: those named in its expressions, and those behind derived values."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from .._checks.check import Check
from .._expressions.expression import Expression, names

HOST, ITEM = "host", "it"


def facts_of_checks(checks: Iterable[Check], judged_by: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """`{check: facts}`, each fact a path as in schemas/facts.json: `cpu.frequency.policies[].governor`."""
    return {check.id: tuple(dict.fromkeys([*_read_by(check), *judged_by.get(check.id, ())])) for check in checks}


def _read_by(check: Check) -> list[str]:
    items = _items(check.each) if check.each is not None else None
    found = []
    for path in _ends(check.actual):
        root, dot, rest = path.replace('"', "").partition(".")
        if root == HOST:
            found.append(rest)
        elif root == ITEM and items is not None:
            found.append(f"{items}{dot}{rest}")
    return [fact for fact in found if fact[:1].isalpha() and not fact.startswith("derived") and ".derived." not in fact]


def _items(each: Expression) -> str | None:
    """The list whose items are the subjects of a check."""
    lists = [path.removeprefix(f"{HOST}.") for path in names(each) if path.endswith("[]")]
    if not lists:
        lists = [f"{path.removeprefix(f'{HOST}.')}[]" for path in _ends(each)]
    return lists[0] if lists and not lists[0].startswith("derived") else None


def _ends(expression: Expression) -> list[str]:
    """The full paths that an expression reads."""
    paths = names(expression)
    return [path for path in paths
            if not any(other.startswith((f"{path}.", f"{path}[")) for other in paths)]
