# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The evaluator: an expression compiled to node objects; expression.py explains the differences from jmespath.

jmespath parses an expression to a tree of mappings and walks that tree again for every evaluation. A report needs more
than a thousand evaluations per host of a fleet, which are faster with precompiled objects.
"""
from __future__ import annotations

import operator
import sys
from collections.abc import Iterable
from typing import Any

from .errors import NOT_RECORDED, BadValue, MissingName, Unreadable, in_words, kind, nearest
from .functions import DEFERRED, StrictFunctions
from .readings import equal, is_true, open_all, open_argument, open_reading

try:
    from jmespath.visitor import _Expression
except ImportError:
    _Expression = object

_ORDERINGS = {"lt": operator.lt, "lte": operator.le, "gt": operator.gt, "gte": operator.ge}
_FUNCTIONS = StrictFunctions()
# Functions that read the parts of their arguments.
_LOOK_INSIDE = ("contains", "to_string")


class Node:
    """A part of an expression. `tree` is jmespath's parse tree, used by errors to name the place.

    Nothing else reads the tree: an Ansible worker is a fork, and Python objects that it reads are copied.
    """

    __slots__ = ("children", "tree", "value")

    def __init__(self, tree: dict) -> None:
        self.tree = tree
        self.children = tuple(map(node_of, tree["children"]))
        value = tree.get("value")
        # The same few hundred names occur thousands of times.
        self.value = sys.intern(value) if isinstance(value, str) else value

    def answer(self, value: Any) -> Any:
        """The part evaluated over `value`, plain JSON; raises Unreadable, MissingName or BadValue."""
        raise NotImplementedError


def node_of(tree: dict) -> Node:
    return _NODES[tree["type"]](tree)


class _Current(Node):
    __slots__ = ()

    def answer(self, value):
        return value


class _Literal(Node):
    __slots__ = ()

    def answer(self, value):
        return self.value


class _Chain(Node):
    """Each part is evaluated over the result of the one before: `a.b`, `a[0]`, `a | b`.

    jmespath nests `a.b.c` as `(a.b).c`; here it is one chain of three.
    """

    __slots__ = ()

    def __init__(self, tree: dict) -> None:
        super().__init__(tree)
        self.children = tuple(part for child in self.children
                              for part in (child.children if isinstance(child, _Chain) else (child,)))

    def answer(self, value):
        for child in self.children:
            value = child.answer(value)
        return value


class _Field(Node):
    __slots__ = ()

    def answer(self, value):
        name = self.value
        if not isinstance(value, dict):
            raise MissingName(f"{name!r} asked of {in_words([kind(value)])}", self)
        if name not in value:
            raise MissingName(f"there is no {name!r}{nearest(name, value)}", self)
        found = value[name]
        return open_reading(found, self) if isinstance(found, dict) else found


class _Index(Node):
    __slots__ = ()

    def answer(self, value):
        items = _items(self, value)
        try:
            return open_reading(items[self.value], self)
        except IndexError:
            raise MissingName(f"there is no [{self.value}] in a list of {len(items)}", self) from None


class _Slice(Node):
    __slots__ = ("bounds",)

    def __init__(self, tree):
        self.tree, self.children, self.value = tree, (), None
        self.bounds = slice(*tree["children"])      # numbers, not parts

    def answer(self, value):
        items = _items(self, value)
        if self.bounds.step == 0:
            raise BadValue("the step of a slice is 0", self)
        return items[self.bounds]


class _Flatten(Node):
    __slots__ = ()

    def answer(self, value):
        merged = []
        for element in _items(self, self.children[0].answer(value)):
            element = open_reading(element, self)
            merged.extend(element) if isinstance(element, list) else merged.append(element)
        return merged


class _Projection(Node):
    """`a[*].b`, or `a[?c].b` with the condition as third child."""

    __slots__ = ()

    def answer(self, value):
        base, wanted, *conditions = self.children
        return self._project(_items(self, base.answer(value)), wanted, conditions)

    def _project(self, elements: Iterable[Any], wanted: Node, conditions: Iterable[Node] = ()) -> list[Any]:
        projected = []
        for element in elements:
            try:
                element = open_reading(element, self)
                for condition in conditions:
                    if not is_true(condition.answer(element)):
                        break
                else:
                    projected.append(wanted.answer(element))
            except Unreadable as error:
                error.place(element)
                raise
        return [item for item in projected if item is not None]


class _ValueProjection(_Projection):
    """`a.*.b`"""

    __slots__ = ()

    def answer(self, value):
        base, wanted = self.children
        found = base.answer(value)
        if not isinstance(found, dict):
            raise BadValue(f"* asked of {in_words([kind(found)])}", self)
        return self._project(found.values(), wanted)


class _List(Node):
    __slots__ = ()

    def answer(self, value):
        return [child.answer(value) for child in self.children]


class _Dict(Node):
    __slots__ = ()

    def answer(self, value):
        return {child.value: child.answer(value) for child in self.children}


class _Comparator(Node):
    __slots__ = ()

    def answer(self, value):
        first, second = self.children
        left, right = open_all(first.answer(value), self), open_all(second.answer(value), self)
        compare = _ORDERINGS.get(self.value)
        if compare is None:
            return equal(left, right, self) == (self.value == "eq")
        for side in (left, right):
            if kind(side) != "number":
                raise BadValue(f"an ordering needs numbers, not {in_words([kind(side)])}", self)
        return compare(left, right)


class _Or(Node):
    __slots__ = ()

    def answer(self, value):
        left, right = self.children
        found = left.answer(value)
        return found if is_true(found) else right.answer(value)


class _And(Node):
    __slots__ = ()

    def answer(self, value):
        left, right = self.children
        found = left.answer(value)
        return right.answer(value) if is_true(found) else found


class _Not(Node):
    __slots__ = ()

    def answer(self, value):
        return not is_true(self.children[0].answer(value))


class _Function(Node):
    __slots__ = ()

    def answer(self, value):
        arguments = [open_argument(child.answer(value), self) for child in self.children]
        if self.value in _LOOK_INSIDE:
            arguments = [open_all(argument, self) for argument in arguments]
        return _FUNCTIONS.call(self, arguments)


class _Deferred(Node):
    """`status(&expression)`, or with a second argument `value_or(&expression, otherwise)`."""

    __slots__ = ()

    def answer(self, value):
        expression, *otherwise = self.children
        try:
            found = expression.children[0].answer(value)
        except Unreadable as error:
            if error.status == NOT_RECORDED:        # it may be anything, so it decides nothing
                raise
            return otherwise[0].answer(value) if otherwise else error.status
        return found if otherwise else "ok"


class _Reference(Node):
    """`&expression`, as an argument of jmespath's own functions."""

    __slots__ = ()

    def answer(self, value):
        return _Expression(self.children[0], self)

    @staticmethod
    def visit(node: Node, value: Any) -> Any:
        """The callback by which those functions evaluate the expression."""
        return node.answer(value)


def _items(node: Node, value: Any) -> list:
    if not isinstance(value, list):
        raise BadValue(f"[] asked of {in_words([kind(value)])}", node)
    return value


def _function(tree: dict) -> Node:
    return (_Deferred if tree["value"] in DEFERRED else _Function)(tree)


_NODES = {
    "and_expression": _And, "comparator": _Comparator, "current": _Current, "expref": _Reference, "field": _Field,
    "filter_projection": _Projection, "flatten": _Flatten, "function_expression": _function, "identity": _Current,
    "index": _Index, "index_expression": _Chain, "key_val_pair": _Chain, "literal": _Literal,
    "multi_select_dict": _Dict, "multi_select_list": _List, "not_expression": _Not, "or_expression": _Or,
    "pipe": _Chain, "projection": _Projection, "slice": _Slice, "subexpression": _Chain,
    "value_projection": _ValueProjection,
}
