# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""JSON schemas compiled to functions that validate a document before anything else reads it.

Supports the part of JSON Schema that the facts' schemas use; an unknown keyword fails at compile time.
"""
from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from .bounds import CHARACTERS, ENTRIES, NUMBER

SCHEMAS = pathlib.Path(__file__).parents[1] / "schemas"
# What does not fit: the path to it, last step first, and why.
Misfit = tuple[list[Any], str]
Fits = Callable[[Any], "Misfit | None"]

_WHOLE = (int,)        # bool is excluded
_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: type(value) in _WHOLE and -NUMBER < value < NUMBER,
    "number": lambda value: type(value) in (int, float) and -NUMBER < value < NUMBER,
}
_READING = "facts/reading.json"
_WHERE_OK = {"properties": {"status": {"const": "ok"}}}
_ONLY_WORDS = frozenset(("description", "title", "$schema", "$id", "$defs", "examples", "default"))


def compile_schema(name: str) -> Fits:
    """The validator for the file `name` below schemas/, or for a part of it: `answers.json#/$defs/journal`."""
    return _Compiler().reference(name, "")


def describe(misfit: Misfit) -> str:
    """`gpus[0].bdf: wanted string, found list`."""
    path = ""
    for step in reversed(misfit[0]):
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
    return f"{path[:200] or 'the document'}: {misfit[1]}"


class _Compiler:
    def __init__(self) -> None:
        self._files: dict[str, Any] = {}
        self._known: dict[tuple[str, str], Fits] = {}

    def reference(self, target: str, file: str) -> Fits:
        """The validator for a `$ref` in `file`."""
        path, _sign, pointer = target.partition("#")
        # References are relative to the file that contains them.
        where = (pathlib.PurePosixPath(file).parent / path).as_posix() if path else file
        key = (where, pointer)
        if key not in self._known:
            def of_itself(value: Any) -> Any:      # a schema may refer to itself
                return self._known[key](value)

            self._known[key] = of_itself
            self._known[key] = self.compile(self._node(where, pointer), where)
        return self._known[key]

    def _node(self, file: str, pointer: str) -> Any:
        if file not in self._files:
            self._files[file] = json.loads((SCHEMAS / file).read_text(encoding="utf-8"))
        node = self._files[file]
        for step in pointer.split("/")[1:]:
            node = node[step]
        return node

    def compile(self, node: Any, file: str) -> Fits:
        if node is True:
            return lambda _value: None
        if node is False:
            return lambda _value: ([], "no value is allowed here")
        parts: list[Fits] = []
        for keyword in node:
            if keyword not in _ONLY_WORDS and keyword not in _KEYWORDS:
                raise ValueError(f"schemas/{file}: the keyword {keyword!r} is not supported by {__name__}")
        for keyword, make in _KEYWORDS.items():
            if keyword in node:
                part = make(self, node, file)
                parts += [part] if part is not None else []
        slow = parts[0] if len(parts) == 1 else _all(parts)
        return self._fast_reading(node, file, slow) if node.get("$ref", "").endswith("#/$defs/reading") else slow

    def _fast_reading(self, node: Mapping[str, Any], file: str, slow: Fits) -> Fits:
        """A fast validator for a reading, `{status, value}`, of which facts have thousands; `slow` finds the misfit."""
        if not set(node) <= {"$ref", "properties", "if", "then", "description"} or \
                set(node.get("properties", {})) - {"value"} or node.get("if", _WHERE_OK) != _WHERE_OK:
            return slow
        statuses = frozenset(self._node(_READING, "/$defs/status")["enum"]) - {"ok"}
        value_fits = self.compile(node.get("properties", {}).get("value", True), file)
        then_fits = self.compile(node.get("then", {}).get("properties", {}).get("value", True), file)

        def fits(reading: Any) -> Misfit | None:
            if isinstance(reading, dict) and len(reading) == 2 and "value" in reading:
                status, value = reading.get("status"), reading["value"]
                if status == "ok":
                    if value_fits(value) is None and then_fits(value) is None:
                        return None
                elif value is None and isinstance(status, str) and status in statuses:
                    return None
            return slow(reading)
        return fits


def _is_gap(item: Any) -> bool:
    """Whether a fact is a reading `not_recorded`, which may replace any fact."""
    return (isinstance(item, dict) and item.get("status") == "not_recorded" and item.get("value", item) is None
            and set(item) <= {"status", "value", "why"} and isinstance(item.get("why", ""), str)
            and len(item.get("why", "")) <= CHARACTERS)


def _all(parts: list[Fits]) -> Fits:
    def fits(value: Any) -> Misfit | None:
        for part in parts:
            misfit = part(value)
            if misfit is not None:
                return misfit
        return None
    return fits


def _reference(compiler: _Compiler, node: Mapping[str, Any], file: str) -> Fits:
    return compiler.reference(node["$ref"], file)


def _type(_compiler: _Compiler, node: Mapping[str, Any], _file: str) -> Fits:
    names = [node["type"]] if isinstance(node["type"], str) else node["type"]
    tests = [_TYPES[name] for name in names]
    wanted = " or ".join(names)

    def fits(value: Any) -> Misfit | None:
        for test in tests:
            if test(value):
                if isinstance(value, str) and len(value) > CHARACTERS:
                    return [], f"a text of {len(value)} characters, at most {CHARACTERS} are accepted"
                return None
        return [], f"wanted {wanted}, found {_kind(value)}"
    return fits


def _kind(value: Any) -> str:
    if type(value) in (int, float) and not -NUMBER < value < NUMBER:
        return "a number out of range"
    return {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null", int: "integer",
            float: "number"}[type(value)]


def _choices(_compiler: _Compiler, node: Mapping[str, Any], _file: str) -> Fits:
    allowed = node["enum"] if "enum" in node else [node["const"]]

    def fits(value: Any) -> Misfit | None:
        # True is not 1: JSON distinguishes them.
        if any(value == one and type(value) is type(one) for one in allowed):
            return None
        return [], f"wanted {', '.join(map(repr, allowed))}, found {value!r:.80}"
    return fits


def _pattern(_compiler: _Compiler, node: Mapping[str, Any], _file: str) -> Fits:
    pattern = re.compile(node["pattern"])
    return lambda value: None if not isinstance(value, str) or pattern.search(value) else (
        [], f"{value!r:.80} does not match {pattern.pattern}")


def _range(_compiler: _Compiler, node: Mapping[str, Any], _file: str) -> Fits:
    least, most = node.get("minimum", -NUMBER), node.get("maximum", NUMBER)
    return lambda value: None if type(value) not in (int, float) or least <= value <= most else (
        [], f"wanted {least} to {most}, found {value}")


def _items(compiler: _Compiler, node: Mapping[str, Any], file: str) -> Fits:
    inner = compiler.compile(node["items"], file)

    def fits(value: Any) -> Misfit | None:
        if not isinstance(value, list):
            return None
        if len(value) > ENTRIES:
            return [], f"{len(value)} entries, at most {ENTRIES} are accepted"
        for position, item in enumerate(value):
            misfit = inner(item)
            if misfit is not None:
                misfit[0].append(position)
                return misfit
        return None
    return fits


def _properties(compiler: _Compiler, node: Mapping[str, Any], file: str) -> Fits:
    known = {name: compiler.compile(inner, file) for name, inner in node.get("properties", {}).items()}
    required = node.get("required", [])
    more = node.get("additionalProperties", True)
    further = compiler.compile(more, file) if more not in (True, False) else None

    def fits(value: Any) -> Misfit | None:
        if not isinstance(value, dict):
            return None
        if len(value) > ENTRIES:
            return [], f"{len(value)} keys, at most {ENTRIES} are accepted"
        for name in required:
            if name not in value:
                return [], f"the key {name} is missing"
        for name, item in value.items():
            inner = known.get(name, further)
            if inner is not None:
                misfit = inner(item)
                if misfit is not None and not _is_gap(item):
                    misfit[0].append(name)
                    return misfit
            elif more is False and name not in known:
                return [], f"unknown key {name!r:.80}"
        return None
    return fits


def _any_of(compiler: _Compiler, node: Mapping[str, Any], file: str) -> Fits:
    inner = [compiler.compile(one, file) for one in node["anyOf"]]

    def fits(value: Any) -> Misfit | None:
        misfits = []
        for one in inner:
            misfit = one(value)
            if misfit is None:
                return None
            misfits.append(misfit)
        return misfits[-1]
    return fits


def _not(compiler: _Compiler, node: Mapping[str, Any], file: str) -> Fits:
    inner = compiler.compile(node["not"], file)
    return lambda value: None if inner(value) is not None else ([], "the value is not allowed")


def _if(compiler: _Compiler, node: Mapping[str, Any], file: str) -> Fits:
    condition, then = compiler.compile(node["if"], file), compiler.compile(node.get("then", True), file)
    otherwise = compiler.compile(node.get("else", True), file)
    return lambda value: (then if condition(value) is None else otherwise)(value)


def _nothing(_compiler: _Compiler, _node: Mapping[str, Any], _file: str) -> None:
    """A keyword that another one handles."""


_KEYWORDS: dict[str, Callable[[_Compiler, Mapping[str, Any], str], Fits | None]] = {
    "$ref": _reference, "type": _type, "enum": _choices, "const": _choices, "pattern": _pattern, "minimum": _range,
    "maximum": lambda compiler, node, file: None if "minimum" in node else _range(compiler, node, file),
    "items": _items, "properties": _properties,
    "required": lambda compiler, node, file: None if "properties" in node else _properties(compiler, node, file),
    "additionalProperties": lambda compiler, node, file: None if {"properties", "required"} & set(node) else
    _properties(compiler, node, file),
    "anyOf": _any_of, "not": _not, "if": _if, "then": _nothing, "else": _nothing,
}
