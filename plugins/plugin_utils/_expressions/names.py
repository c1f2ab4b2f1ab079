# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Static name check: the names in an expression, followed through the facts' schema without any facts."""
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .errors import BadExpression, BadValue, MissingName, in_words, nearest
from .schema_types import BOOLEAN, NUMBER, STRING, STRINGS, ArrayOf, Type, kinds, literal, opened, union

_RESULT_OF = {
    **dict.fromkeys(("abs", "avg", "ceil", "floor", "length", "sum", "to_number"), NUMBER),
    **dict.fromkeys(("contains", "ends_with", "starts_with"), BOOLEAN),
    **dict.fromkeys(("join", "status", "to_string", "type"), STRING),
    "keys": STRINGS,
}
_ORDERINGS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


class Place(NamedTuple):
    """A position reached by an expression: the path as a user would write it, and the type of its value."""

    path: str
    type: Type


def paths(tree: dict) -> Iterator[tuple[dict, str]]:
    """Every node that reads something, with its path: `host.gpus[].pcie`."""
    walk = _Walk()
    walk.visit(tree, Place("", None))
    return iter(walk.read)


def path_of(tree: dict, node: dict | None) -> str:
    return next((path for read, path in paths(tree) if read is node), "")


def result_path(tree: dict) -> str:
    """The path of the answer itself, empty if the expression creates a new value."""
    return _Walk().visit(tree, Place("", None)).path


def roots(tree: dict) -> frozenset[str]:
    """The names read from the scope itself: host, it, actual, recommended."""
    return frozenset(path for _node, path in paths(tree) if path.isidentifier())


def check(tree: dict, scope: Type) -> Type:
    """The type of the answer; MissingName for a name that `scope` cannot have, BadValue for an impossible comparison.
    """
    return _Walk().visit(tree, Place("", scope)).type


class _Walk:
    def __init__(self) -> None:
        self.read: list[tuple[dict, str]] = []

    def visit(self, node: dict, at: Place) -> Place:
        return getattr(self, f"_{node['type']}")(node, at)

    def _chain(self, node: dict, at: Place) -> Place:
        for child in node["children"]:
            at = self.visit(child, at)
        return at

    _index_expression = _pipe = _chain

    def _subexpression(self, node: dict, at: Place) -> Place:
        if node["children"][0]["type"] == "not_expression":
            raise BadExpression("! binds closer than a dot: write !(a.b), not !a.b", node)
        return self._chain(node, at)

    def _identity(self, node: dict, at: Place) -> Place:
        return at

    _current = _identity

    def _literal(self, node: dict, at: Place) -> Place:
        return Place("", literal(node["value"]))

    def _field(self, node: dict, at: Place) -> Place:
        name = node["value"]
        written = name if name.isidentifier() else f'"{name}"'
        place = Place(f"{at.path}.{written}" if at.path else written, self._type_of_field(node, at))
        self.read.append((node, place.path))
        return place

    def _type_of_field(self, node: dict, at: Place) -> Type:
        name = node["value"]
        if at.type is None or any(shape.kinds() is None for shape in at.type):
            return None
        objects = [shape for shape in at.type if "object" in shape.kinds()]
        if not objects:
            raise MissingName(f"{name!r} asked of {_what(at)}", node)
        answers = [shape.field(name) for shape in objects]
        if not any(allowed for allowed, _found in answers):
            known = [other for shape in objects for other in shape.names()]
            raise MissingName(f"there is no {name!r} in {at.path or 'the scope'}{nearest(name, known)}", node)
        return opened(union(found for allowed, found in answers if allowed))

    def _elements(self, node: dict, at: Place, step: str = "[]") -> Place:
        known = kinds(at.type)
        if known is not None and "array" not in known:
            raise MissingName(f"{step} asked of {_what(at)}", node)
        arrays = [] if known is None else [shape for shape in at.type or () if "array" in (shape.kinds() or ())]
        place = Place(at.path + step, opened(union(shape.elements() for shape in arrays)) if arrays else None)
        self.read.append((node, place.path))
        return place

    def _index(self, node: dict, at: Place) -> Place:
        return self._elements(node, at, f"[{node['value']}]")

    def _slice(self, node: dict, at: Place) -> Place:
        self._elements(node, at)
        return at

    def _flatten(self, node: dict, at: Place) -> Place:
        base = self.visit(node["children"][0], at)
        inner = self._elements(node, base).type
        if inner is None or any(shape.kinds() is None for shape in inner):
            return Place(base.path, None)
        return Place(base.path, (ArrayOf(union(
            shape.elements() if "array" in shape.kinds() else (shape,) for shape in inner)),))

    def _projection(self, node: dict, at: Place) -> Place:
        base = self.visit(node["children"][0], at)
        result = self.visit(node["children"][1], self._elements(node, base))
        return Place(result.path, (ArrayOf(result.type),))

    def _filter_projection(self, node: dict, at: Place) -> Place:
        element = self._elements(node, self.visit(node["children"][0], at))
        self.visit(node["children"][2], element)
        result = self.visit(node["children"][1], element)
        return Place(result.path, (ArrayOf(result.type),))

    def _value_projection(self, node: dict, at: Place) -> Place:
        base = self.visit(node["children"][0], at)
        known = kinds(base.type)
        if known is not None and "object" not in known:
            raise MissingName(f"* asked of {_what(base)}", node)
        objects = [] if known is None else [shape for shape in base.type or () if "object" in (shape.kinds() or ())]
        values = Place(f"{base.path}.*", opened(union(shape.values() for shape in objects)) if objects else None)
        self.read.append((node, values.path))
        return Place(values.path, (ArrayOf(self.visit(node["children"][1], values).type),))

    def _comparator(self, node: dict, at: Place) -> Place:
        left, right = (kinds(self.visit(child, at).type) for child in node["children"])
        operator = _ORDERINGS.get(node["value"])
        for side in (left, right):
            if operator and side is not None and "number" not in side:
                raise BadValue(f"{operator} compares numbers, not {in_words(side)}", node)
        if left and right and "null" not in left | right and not left & right:
            raise BadValue(f"{in_words(left)} is compared with {in_words(right)}, which can never be equal", node)
        return Place("", BOOLEAN)

    def _not_expression(self, node: dict, at: Place) -> Place:
        self._chain_apart(node, at)
        return Place("", BOOLEAN)

    def _or_expression(self, node: dict, at: Place) -> Place:
        return Place("", union(place.type for place in self._chain_apart(node, at)))

    _and_expression = _or_expression

    def _multi_select_list(self, node: dict, at: Place) -> Place:
        return Place("", (ArrayOf(union(place.type for place in self._chain_apart(node, at))),))

    def _multi_select_dict(self, node: dict, at: Place) -> Place:
        self._chain_apart(node, at)
        return Place("", None)

    _key_val_pair = _chain

    def _chain_apart(self, node: dict, at: Place) -> list[Place]:
        return [self.visit(child, at) for child in node["children"]]

    def _function_expression(self, node: dict, at: Place) -> Place:
        name = node["value"]
        plain = [self.visit(child, at) for child in node["children"] if child["type"] != "expref"]
        first = plain[0] if plain else Place("", None)
        deferred = at if name in ("status", "value_or") else None
        results = [self.visit(child["children"][0], deferred or self._elements(node, first))
                   for child in node["children"] if child["type"] == "expref"]
        return Place("", self._type_of_result(node, first, plain, results))

    def _type_of_result(self, node: dict, first: Place, plain: list[Place], results: list[Place]) -> Type:
        name = node["value"]
        if name == "map":
            return (ArrayOf(results[0].type),)
        if name == "value_or":
            return union(place.type for place in results + plain)
        if name in ("max", "min", "max_by", "min_by"):
            return self._elements(node, first).type
        if name in ("reverse", "sort", "sort_by"):
            return first.type
        return _RESULT_OF.get(name)


def _what(at: Place) -> str:
    what = in_words(kinds(at.type) or {"unknown"})
    return f"{at.path}, which is {what}" if at.path else what
