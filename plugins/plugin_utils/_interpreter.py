# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The interpreter and the functions of strict jmespath; _strict.py says how they differ from plain ones."""
from __future__ import annotations

import math
import operator
import re
from typing import Any

from ._errors import BadValue, MissingName, Unreadable, in_words, kind, nearest

try:
    from jmespath.exceptions import JMESPathError
    from jmespath.functions import Functions, signature
    from jmespath.visitor import Options, TreeInterpreter
except ImportError:
    JMESPathError = ValueError
    Functions = TreeInterpreter = object

    def Options(**_arguments):
        return None

    def signature(*_arguments):
        return lambda function: function

_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_ORDERINGS = {"lt": operator.lt, "lte": operator.le, "gt": operator.gt, "gte": operator.ge}
# Functions whose first argument is evaluated by the interpreter, where they stand; with the arguments they take.
_DEFERRED = {"status": ({"types": ["expref"]},), "value_or": ({"types": ["expref"]}, {"types": []})}


def _open(found: Any, node: dict) -> Any:
    """The value of a reading; anything else as it is."""
    if isinstance(found, dict) and len(found) == 2 and "status" in found and "value" in found:
        if found["status"] != "ok":
            raise Unreadable(str(found["status"]), node)
        return found["value"]
    return found


def _open_all(found: Any, node: dict) -> Any:
    """`found` with every reading in it opened, for what looks at a value as a whole."""
    if not isinstance(found, (dict, list)):
        return found
    found = _open(found, node)
    if isinstance(found, dict):
        return {name: _open_all(value, node) for name, value in found.items()}
    if isinstance(found, list):
        return [_open_all(item, node) for item in found]
    return found


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 is not true."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    return left == right and kind(left) == kind(right)


def _comparable(left: Any, right: Any, node: dict) -> bool:
    if type(left) is type(right):
        return same(left, right)
    if left is None or right is None:
        return False
    if kind(left) != kind(right):
        raise BadValue(f"{in_words([kind(left)])} is compared with {in_words([kind(right)])}", node)
    return same(left, right)


class StrictFunctions(Functions):
    """jmespath's functions, where they are strict enough, and ours."""

    def call(self, node: dict, arguments: list) -> Any:
        try:
            result = self.call_function(node["value"], arguments)
        except (JMESPathError, TypeError, ValueError, ArithmeticError) as error:
            raise BadValue(f"{node['value']}(): {str(error)[:200]}", node) from None
        if isinstance(result, float) and not math.isfinite(result):
            raise BadValue(f"{node['value']}(): the result is not a number that JSON knows", node)
        return result

    @signature({"types": []})
    def _func_to_number(self, value):
        if kind(value) == "number":
            return value
        if not isinstance(value, str) or not _NUMBER.fullmatch(value):
            raise ValueError(f"{value!r} is not a number")
        return int(value) if value.lstrip("-").isdigit() else float(value)

    @signature({"types": ["array", "string"]}, {"types": []})
    def _func_contains(self, subject, search):
        if isinstance(subject, str):
            return search in subject
        return True in [_comparable(item, search, None) for item in subject]


class StrictInterpreter(TreeInterpreter):
    """jmespath's interpreter, with errors where the other answers null."""

    def __init__(self):
        super().__init__(Options(custom_functions=StrictFunctions()))
        self._visitors = {name.removeprefix("visit_"): getattr(self, name)
                          for name in dir(self) if name.startswith("visit_")}

    def visit(self, node, value):
        return self._visitors[node["type"]](node, value)

    def visit_field(self, node, value):
        name = node["value"]
        if not isinstance(value, dict):
            raise MissingName(f"{name!r} asked of {in_words([kind(value)])}", node)
        if name not in value:
            raise MissingName(f"there is no {name!r}{nearest(name, value)}", node)
        return _open(value[name], node)

    def visit_index(self, node, value):
        items = self._items(node, value)
        try:
            return _open(items[node["value"]], node)
        except IndexError:
            raise MissingName(f"there is no [{node['value']}] in a list of {len(items)}", node) from None

    def visit_slice(self, node, value):
        items = self._items(node, value)
        if node["children"][2] == 0:
            raise BadValue("the step of a slice is 0", node)
        return items[slice(*node["children"])]

    def visit_flatten(self, node, value):
        merged = []
        for element in self._items(node, self.visit(node["children"][0], value)):
            element = _open(element, node)
            merged.extend(element) if isinstance(element, list) else merged.append(element)
        return merged

    def visit_projection(self, node, value):
        return self._project(node, self._items(node, self.visit(node["children"][0], value)))

    def visit_filter_projection(self, node, value):
        items = self._items(node, self.visit(node["children"][0], value))
        return self._project(node, items, node["children"][2])

    def visit_value_projection(self, node, value):
        base = self.visit(node["children"][0], value)
        if not isinstance(base, dict):
            raise BadValue(f"* asked of {in_words([kind(base)])}", node)
        return self._project(node, base.values())

    def _project(self, node, elements, condition=None):
        projected = []
        for element in elements:
            try:
                element = _open(element, node)
                if condition is None or self._is_true(self.visit(condition, element)):
                    projected.append(self.visit(node["children"][1], element))
            except Unreadable as error:
                error.place(element)
                raise
        return [item for item in projected if item is not None]

    def _items(self, node, value):
        if not isinstance(value, list):
            raise BadValue(f"[] asked of {in_words([kind(value)])}", node)
        return value

    def visit_multi_select_list(self, node, value):
        return [self.visit(child, value) for child in node["children"]]

    def visit_multi_select_dict(self, node, value):
        return {child["value"]: self.visit(child, value) for child in node["children"]}

    def visit_comparator(self, node, value):
        left, right = [_open_all(self.visit(child, value), node) for child in node["children"]]
        compare = _ORDERINGS.get(node["value"])
        if compare is None:
            return _comparable(left, right, node) == (node["value"] == "eq")
        for side in (left, right):
            if kind(side) != "number":
                raise BadValue(f"an ordering needs numbers, not {in_words([kind(side)])}", node)
        return compare(left, right)

    def visit_function_expression(self, node, value):
        if node["value"] in _DEFERRED:
            return self._deferred(node, value)
        arguments = [_open_argument(self.visit(child, value), node) for child in node["children"]]
        if node["value"] in ("contains", "to_string"):
            arguments = [_open_all(argument, node) for argument in arguments]
        return self._functions.call(node, arguments)

    def _deferred(self, node, value):
        expression, *otherwise = node["children"]
        try:
            found = self.visit(expression["children"][0], value)
        except Unreadable as error:
            return self.visit(otherwise[0], value) if otherwise else error.status
        return found if otherwise else "ok"


def _open_argument(argument: Any, node: dict) -> Any:
    if isinstance(argument, list):
        return [_open(item, node) for item in argument]
    return _open(argument, node)


def signatures() -> dict[str, tuple]:
    """What every function takes."""
    return {**{name: entry["signature"] for name, entry in StrictFunctions.FUNCTION_TABLE.items()}, **_DEFERRED}
