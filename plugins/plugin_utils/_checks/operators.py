# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Operators of checks on typed values: one function per operator, one per type."""
from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .._expressions.errors import in_words, kind
from .._expressions.readings import same

_INT = re.compile(r"[+-]?\d+", re.ASCII)
_FLOAT = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
_WORDS_OF_BOOL = {**dict.fromkeys(("true", "1", "y", "yes", "on"), True),
                  **dict.fromkeys(("false", "0", "n", "no", "off"), False)}
QUOTE_IT = "YAML reads an unquoted on, off, yes or no as a boolean: quote it in YAML"


class BadType(ValueError):
    """A value does not have the type that the check declares."""


def _text(value: Any) -> str:
    return json.dumps(value, default=str)[:80]


def _int(value: Any) -> int:
    """60 or "60": only decimal digits, as sysctl and sysfs print numbers."""
    if isinstance(value, bool):
        raise BadType(f"{str(value).lower()} is a boolean, not an int")
    if isinstance(value, int):
        return value
    if isinstance(value, str) and _INT.fullmatch(value.strip()):
        return int(value)
    raise BadType(f"{_text(value)} is not an int")


def _float(value: Any) -> float:
    if isinstance(value, bool):
        raise BadType(f"{str(value).lower()} is a boolean, not a float")
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str) and _FLOAT.fullmatch(value.strip()):
        return float(value)
    raise BadType(f"{_text(value)} is not a float")


def _str(value: Any) -> str:
    if isinstance(value, bool):
        raise BadType(f"{str(value).lower()} is a boolean, not a str. {QUOTE_IT}")
    if isinstance(value, str):
        return value
    raise BadType(f"{_text(value)} is {in_words([kind(value)])}, not a str")


def _bool(value: Any) -> bool:
    """A boolean as parsed by the kernel's kstrtobool() (lib/kstrtox.c), and true and false."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    if word in _WORDS_OF_BOOL:
        return _WORDS_OF_BOOL[word]
    raise BadType(f"{_text(value)} is not a bool")


def _ints(value: Any) -> list[int]:
    """The numbers of "10 20\\t30", separated by any white space."""
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        value = str(value).split()
    return [_int(item) for item in _list(value)]


def _list(value: Any) -> list:
    if isinstance(value, list):
        return value
    raise BadType(f"{_text(value)} is {in_words([kind(value)])}, not a list")


def _any(value: Any) -> Any:
    return value


TYPES: dict[str, Callable[[Any], Any]] = {
    "int": _int, "float": _float, "str": _str, "bool": _bool, "ints": _ints, "list": _list, "any": _any}


def _equals(actual: Any, wanted: Any) -> bool:
    return same(actual, wanted)


def _not_equals(actual: Any, wanted: Any) -> bool:
    return not same(actual, wanted)


def _one_of(actual: Any, wanted: list) -> bool:
    return any(same(actual, item) for item in wanted)


def _none_of(actual: Any, wanted: list) -> bool:
    return not _one_of(actual, wanted)


def _at_least(actual: Any, wanted: Any) -> bool:
    return all(one >= other for one, other in _pairs(actual, wanted))


def _at_most(actual: Any, wanted: Any) -> bool:
    return all(one <= other for one, other in _pairs(actual, wanted))


def _pairs(actual: Any, wanted: Any) -> list[tuple]:
    if not isinstance(wanted, list):
        return [(actual, wanted)]
    if len(actual) != len(wanted):
        raise BadType(f"{len(actual)} numbers are compared with {len(wanted)}")
    return list(zip(actual, wanted))


def _matches(actual: str, wanted: str) -> bool:
    return re.fullmatch(wanted, actual) is not None


def _subset(actual: list, wanted: list) -> bool:
    return all(_one_of(item, wanted) for item in actual)


def _superset(actual: list, wanted: list) -> bool:
    return all(_one_of(item, actual) for item in wanted)


def _empty(actual: Any, _wanted: None) -> bool:
    return len(actual) == 0


def _not_empty(actual: Any, _wanted: None) -> bool:
    return len(actual) > 0


def _all_equal(actual: list, _wanted: None) -> bool:
    return all(same(item, actual[0]) for item in actual)


class Operator(NamedTuple):
    """An operator's comparison, and the form of its two sides: `one` value, or `many` of the type."""

    decide: Callable[[Any, Any], bool]
    actual: str = "one"
    wanted: str | None = "one"
    types: frozenset[str] = frozenset(TYPES)


_NUMBERS = frozenset(("int", "float", "ints"))
_ONE = frozenset(("int", "float", "str", "bool", "any"))
OPERATORS = {
    "equals": Operator(_equals),
    "not_equals": Operator(_not_equals),
    "one_of": Operator(_one_of, wanted="many", types=_ONE),
    "none_of": Operator(_none_of, wanted="many", types=_ONE),
    "at_least": Operator(_at_least, types=_NUMBERS),
    "at_most": Operator(_at_most, types=_NUMBERS),
    "matches": Operator(_matches, types=frozenset(("str",))),
    "subset": Operator(_subset, actual="many", wanted="many"),
    "superset": Operator(_superset, actual="many", wanted="many"),
    "empty": Operator(_empty, actual="many", wanted=None),
    "not_empty": Operator(_not_empty, actual="many", wanted=None),
    "all_equal": Operator(_all_equal, actual="many", wanted=None),
}


def parse_wanted(op: str, type_name: str, value: Any) -> Any:
    """The wanted side, parsed; BadType if it does not fit the operator and the type."""
    operator = OPERATORS[op]
    if type_name not in operator.types:
        raise BadType(f"{op} does not support the type {type_name}, only {', '.join(sorted(operator.types))}")
    if operator.wanted is None:
        return None
    parsed = _side(operator.wanted, type_name, value)
    if op == "matches":
        try:
            re.compile(parsed)
        except re.error as error:
            raise BadType(f"{parsed!r} is not a regular expression: {error}") from None
    return parsed


def compare(op: str, type_name: str, actual: Any, wanted: Any) -> bool:
    """Whether `actual` is as wanted; `wanted` comes from parse_wanted(). BadType: `actual` cannot be parsed."""
    operator = OPERATORS[op]
    if operator.actual == "many" and type_name == "str" and isinstance(actual, str):
        actual = actual.split()
    return operator.decide(_side(operator.actual, type_name, actual), wanted)


def recommended(op: str, value: Any) -> Any:
    """The recommended value of a finding: the value itself for equals, else `{op: value}`."""
    if op == "equals":
        return value
    return {op: True if OPERATORS[op].wanted is None else value}


def _side(form: str, type_name: str, value: Any) -> Any:
    """One value of the type, or a list of them; `ints` and `list` are lists already."""
    parse = TYPES[type_name]
    if form == "one" or type_name in ("ints", "list"):
        return parse(value)
    return [parse(item) for item in _list(value)]
