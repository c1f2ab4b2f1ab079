# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Strict jmespath: a misspelt name, an unreadable fact or an invalid comparison is an error.

Plain jmespath returns null in all these cases, which counts as false. The differences:

- a name that an object lacks, a name in something other than an object, an index beyond the end: MissingName;
- a reading, `{status, value}`, that is reached by name, index, projection, filter or as an argument is replaced by its
  value; one that is not ok: Unreadable. `&&` and `||` still skip their right side if the left one decides;
- `==` and `!=` of two JSON types, `<` and the like with anything but numbers: BadValue. Anything may be compared with
  null by `==` and `!=`;
- a projection, flatten, filter or slice of something that is not a list (or, for `*`, an object): BadValue;
- as in plain jmespath, a projection leaves out null.

Functions: those of jmespath (to_number() only accepts a plain decimal number) and two additions,
`status(&expression)`: ok, or the status of the reading that stops it;
`value_or(&expression, otherwise)`: its value, or `otherwise` if a reading stops it.

A reading `not_recorded` stops these two as well: a fact missing from a recording decides nothing.
"""
from __future__ import annotations

import functools
import math
from typing import Any

from . import names as names_module
from .errors import BadExpression, BadValue, ExpressionError, MissingPackage, Unreadable, nearest
from .functions import signatures
from .nodes import Node, node_of
from .schema_types import Type

try:
    from jmespath.exceptions import JMESPathError
    from jmespath.parser import Parser
except ImportError:
    JMESPathError = ValueError
    Parser = None


class Expression:
    """A compiled expression; `where` names its check and key in messages."""

    __slots__ = ("node", "roots", "text", "tree", "where")

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        self.tree, self.node, self.roots = _parsed(text)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


def compile_expression(text: str, where: str = "") -> Expression:
    """Compile `text` for evaluate(); BadExpression if it is not strict jmespath."""
    if Parser is None:
        raise MissingPackage("jmespath", "evaluate the expressions of the checks")
    try:
        return Expression(text, where)
    except ExpressionError as error:
        raise _placed(error, text, where) from None
    except RecursionError:
        raise _placed(BadExpression("nested too deeply"), text, where) from None
    except (JMESPathError, ValueError, IndexError, KeyError, AttributeError) as error:
        reason = str(error).partition("\n")[0].removesuffix(", for expression:") or type(error).__name__
        raise _placed(BadExpression(f"not a jmespath expression: {reason}"), text, where) from None


# Half of the catalogue's expressions occur in several checks, and a worker copies what it evaluates.
@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> tuple[dict, Node, frozenset[str]]:
    """jmespath's tree of `text`, the nodes compiled from it, and the names that it reads from the scope."""
    tree = Parser().parse(text).parsed
    _check_calls(tree)
    return tree, node_of(tree), names_module.roots(tree)


def evaluate(expression: Expression, scope: dict) -> Any:
    """The value of `expression` over `scope`, plain JSON; raises Unreadable, MissingName or BadValue."""
    try:
        return expression.node.answer(scope)
    except ExpressionError as error:
        if isinstance(error, Unreadable):
            error.name = names_module.path_of(expression.tree, error.node.tree)
        raise _placed(error, expression.text, expression.where) from None
    except RecursionError:
        raise _placed(BadValue("nested too deeply"), expression.text, expression.where) from None


def names(expression: Expression) -> list[str]:
    """The paths that the expression reads: `host.gpus[].pcie`."""
    return list(dict.fromkeys(path for _node, path in names_module.paths(expression.tree)))


def check_names(expression: Expression, scope: Type) -> Type:
    """The type of the answer by the facts' schema; MissingName for a name that the schema does not have."""
    try:
        return names_module.check(expression.tree, scope)
    except ExpressionError as error:
        raise _placed(error, expression.text, expression.where) from None


def _placed(error: ExpressionError, text: str, where: str) -> ExpressionError:
    error.text, error.where = text, where
    return error


def _check_calls(node: dict, in_call: bool = False) -> None:
    """Check that functions exist and get the right number of arguments, that `&` is only used where a function takes
    it, and that literals are JSON."""
    if node["type"] == "function_expression":
        _check_call(node["value"], node["children"])
    if node["type"] == "expref" and not in_call:
        raise BadExpression("& may only stand before an argument of a function that takes an expression")
    if node["type"] == "literal":
        _check_finite(node["value"])
    for child in node["children"]:
        if isinstance(child, dict):
            _check_calls(child, node["type"] == "function_expression")


def _check_call(name: str, arguments: list[dict]) -> None:
    if name not in _SIGNATURES:
        raise BadExpression(f"there is no function {name}(){nearest(name, _SIGNATURES)}")
    wanted = _SIGNATURES[name]
    variadic = wanted[-1].get("variadic", False)
    if len(arguments) < len(wanted) or (len(arguments) > len(wanted) and not variadic):
        raise BadExpression(f"{name}() takes {'at least ' if variadic else ''}{len(wanted)} argument(s)")
    for position, argument in enumerate(arguments):
        takes = wanted[min(position, len(wanted) - 1)]["types"] == ["expref"]
        if takes != (argument["type"] == "expref"):
            raise BadExpression(f"argument {position + 1} of {name}() is {'an' if takes else 'no'} expression with &")


def _check_finite(value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise BadExpression("a literal is not a JSON number")
    for item in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        _check_finite(item)


if Parser is not None:
    _SIGNATURES = signatures()
