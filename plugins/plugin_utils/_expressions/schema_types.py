# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Schema types: the facts' JSON schemas as types, through which the names of an expression are followed."""
from __future__ import annotations

import functools
import json
import pathlib
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .errors import kind

SCHEMAS = pathlib.Path(__file__).parents[1] / "schemas"
_KIND_OF_TYPE = {"integer": "number"}


class Shape(NamedTuple):
    """A node of a JSON schema. Types are tuples of shapes, one per alternative; None is an unknown type."""

    file: str                   # below SCHEMAS; $ref is relative to it
    node: Any

    def kinds(self) -> set[str] | None:
        for facet in _facets(self):
            if "type" in facet.node:
                types = facet.node["type"]
                return {_KIND_OF_TYPE.get(name, name) for name in ([types] if isinstance(types, str) else types)}
            if "const" in facet.node or "enum" in facet.node:
                return {kind(value) for value in facet.node.get("enum", [facet.node.get("const")])}
            if "properties" in facet.node:
                return {"object"}
        return None

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for facet in _facets(self) for name in facet.node.get("properties", {})))

    def field(self, name: str) -> tuple[bool, Type]:
        """Whether an object of this shape may have `name`, and its type."""
        for facet in _facets(self):
            if name in facet.node.get("properties", {}):
                return True, expand([Shape(facet.file, facet.node["properties"][name])])
        for facet in _facets(self):
            for pattern, node in facet.node.get("patternProperties", {}).items():
                if re.search(pattern, name):
                    return True, expand([Shape(facet.file, node)])
        return self._additional()

    def _additional(self) -> tuple[bool, Type]:
        for facet in _facets(self):
            if "additionalProperties" in facet.node:
                more = facet.node["additionalProperties"]
                return bool(more), expand([Shape(facet.file, more)]) if more else None
        return not self.names(), None

    def elements(self) -> Type:
        for facet in _facets(self):
            if "items" in facet.node:
                return expand([Shape(facet.file, facet.node["items"])])
        return None

    def values(self) -> Type:
        known = [self.field(name)[1] for name in self.names()]
        allowed, more = self._additional()
        return union([*known, more] if allowed else known)

    def opened(self) -> Type:
        """The type of the value if the shape is a reading."""
        if set(self.names()) - {"why"} == {"status", "value"}:
            return self.field("value")[1]
        return (self,)


class ArrayOf(NamedTuple):
    """An array created by a projection or a function."""

    items: Type

    def kinds(self) -> set[str]:
        return {"array"}

    def names(self) -> list[str]:
        return []

    def elements(self) -> Type:
        return self.items

    def opened(self) -> Type:
        return (self,)


class Record(NamedTuple):
    """An object with exactly these fields: the scope of an expression."""

    fields: dict[str, Type]

    def kinds(self) -> set[str]:
        return {"object"}

    def names(self) -> list[str]:
        return list(self.fields)

    def field(self, name: str) -> tuple[bool, Type]:
        return name in self.fields, self.fields.get(name)

    def values(self) -> Type:
        return union(self.fields.values())

    def opened(self) -> Type:
        return (self,)


Type = tuple["Shape | ArrayOf | Record", ...] | None
NUMBER: Type = (Shape("", {"type": "number"}),)
STRING: Type = (Shape("", {"type": "string"}),)
BOOLEAN: Type = (Shape("", {"type": "boolean"}),)
NULL: Type = (Shape("", {"type": "null"}),)
STRINGS: Type = (ArrayOf(STRING),)


def union(types: Iterable[Type]) -> Type:
    """The type of a value that may have any of these types."""
    found: list[Shape | ArrayOf | Record] = []
    for known in types:
        if known is None:
            return None
        found += [shape for shape in known if shape not in found]
    return tuple(found)


def literal(value: Any) -> Type:
    return (ArrayOf(None),) if isinstance(value, list) else (Shape("", {"const": value}),)


def kinds(known: Type) -> set[str] | None:
    """The JSON types that a value may have; None if not known."""
    found: set[str] = set()
    for shape in known or ():
        one = shape.kinds()
        if one is None:
            return None
        found |= one
    return found or None


def opened(known: Type) -> Type:
    return None if known is None else union(shape.opened() for shape in known)


def expand(shapes: Iterable[Shape]) -> Type:
    """One shape per alternative of anyOf and oneOf; None if one of them allows anything."""
    found: list[Shape] = []
    for shape in shapes:
        if shape.node is True or shape.node is None:
            return None
        for facet in _facets(shape):
            choices = facet.node.get("anyOf") or facet.node.get("oneOf")
            if choices:
                inner = expand(Shape(facet.file, choice) for choice in choices)
                break
        else:
            inner = (shape,) if any(facet.node.keys() - {"$ref", "description"} for facet in _facets(shape)) else None
        if inner is None:
            return None
        found += inner
    return tuple(found)


def _facets(shape: Shape) -> Iterator[Shape]:
    """All schema nodes that apply to a shape: its own, then allOf (the last first), then its $ref."""
    if not isinstance(shape.node, dict):
        return
    yield shape
    for part in reversed(shape.node.get("allOf", [])):
        yield from _facets(Shape(shape.file, part))
    if "$ref" in shape.node:
        yield from _facets(_resolve(shape.file, shape.node["$ref"]))


def _resolve(file: str, reference: str) -> Shape:
    name, _hash, pointer = reference.partition("#")
    target = (pathlib.PurePosixPath(file).parent / name).as_posix() if name else file
    node = _document(target)
    for step in pointer.split("/")[1:]:
        node = node[step]
    return Shape(target, node)


@functools.cache
def _document(file: str) -> Any:
    return json.loads((SCHEMAS / file).read_text(encoding="utf-8"))
