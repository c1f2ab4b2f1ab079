# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Readings in strict jmespath: a reading, `{status, value}`, yields its value or an error.

A derived one may have a third key, `why`: a sentence that says why it is not available.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import BadValue, Unreadable, in_words, kind

if TYPE_CHECKING:
    from .nodes import Node

_SCALARS = frozenset((str, int, float, bool, type(None)))


def open_reading(found: Any, node: Node | None) -> Any:
    """The value of a reading; anything else unchanged."""
    if isinstance(found, dict) and "status" in found and "value" in found and (
            len(found) == 2 or (len(found) == 3 and "why" in found)):
        if found["status"] != "ok":
            raise Unreadable(str(found["status"]), node, found.get("why"))
        return found["value"]
    return found


def open_all(found: Any, node: Node | None) -> Any:
    """`found` with every reading in it replaced by its value, for functions that use a value as a whole."""
    if not isinstance(found, (dict, list)):
        return found
    found = open_reading(found, node)
    if isinstance(found, dict):
        return {name: open_all(value, node) for name, value in found.items()}
    if isinstance(found, list):
        return [open_all(item, node) for item in found]
    return found


def open_argument(argument: Any, node: Node | None) -> Any:
    """A function's argument with readings replaced: it may be one, or a list that contains some."""
    if isinstance(argument, list):
        return [open_reading(item, node) for item in argument]
    return open_reading(argument, node)


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 is not true."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    return left == right and kind(left) == kind(right)


def equal(left: Any, right: Any, node: Node | None) -> bool:
    """`==` of expressions: null may be compared with anything, other types only with their own."""
    if type(left) is type(right):
        return left == right if type(left) in _SCALARS else same(left, right)
    if left is None or right is None:
        return False
    if kind(left) != kind(right):
        raise BadValue(f"{in_words([kind(left)])} is compared with {in_words([kind(right)])}", node)
    return same(left, right)


def is_true(value: Any) -> bool:
    """Truth as in jmespath: null, false and empty values are false, 0 is true."""
    return value is True or not (value is None or value is False or value in ("", [], {}))
