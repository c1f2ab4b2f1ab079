# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Static name check of a check's expressions against the facts' schema: a typo is found when the file is loaded."""
from __future__ import annotations

from .._expressions.errors import CatalogueError, ExpressionError, in_words
from .._expressions.expression import Expression
from .._expressions.expression import check_names as check_expression
from .._expressions.schema_types import NULL, Record, Shape, Type, expand, kinds, union
from .check import Check

# `host` in expressions: the facts, and what the evaluation adds to them.
_HOST = {"allOf": [{"$ref": "facts.json"}, {"properties": {
    "dedicated": {"type": "boolean"},
    "allow_busy": {"type": "boolean"},
    "included": {"type": "array", "items": {"type": "string"}},
    "derived": {"$ref": "facts/derived.json#/$defs/host"},
    "gpus": {"type": "array", "items": {"allOf": [
        {"$ref": "facts/gpus.json#/items"},
        {"properties": {"derived": {"$ref": "facts/derived.json#/$defs/gpu"}}}]}},
}}]}
_OTHER_SYSCTL = '; for a sysctl that host_info does not read by default use host.tunables."sysctl:NAME"'
_YIELDS = {"applies": "boolean", "plan_if": "boolean", "escalate.if": "boolean", "subject": "string"}


def check_names(check: Check) -> None:
    """Raise CatalogueError for a name that the facts cannot have, or a condition that can never be a boolean."""
    host = expand([Shape("facts.json", _HOST)])
    it = NULL
    if check.each is not None:
        it = _elements(check, _type(check, "each", check.each, {"host": host}))
    scope = {"host": host, "it": it}
    actual: Type = None
    for key, expression in check.expressions():
        found = _type(check, key, expression, scope)
        if key == "actual":
            actual = found
        wanted, found_kinds = _YIELDS.get(key), kinds(found)
        if wanted and found_kinds and wanted not in found_kinds:
            raise CatalogueError(check.file, check.id, key, f"yields {in_words(found_kinds)}, not {in_words([wanted])} "
                                 f"(in {expression.text})")
    for key, text in check.texts():
        for expression in text.expressions:
            _type(check, key, expression, {**scope, "actual": actual, "recommended": None})


def _type(check: Check, key: str, expression: Expression, scope: dict[str, Type]) -> Type:
    try:
        return check_expression(expression, (Record(scope),))
    except ExpressionError as error:
        hint = _OTHER_SYSCTL if " in host.sysctl" in error.message else ""
        raise CatalogueError(check.file, check.id, key, f"{error.message} (in {error.text}){hint}") from None


def _elements(check: Check, found: Type) -> Type:
    """The type of one subject."""
    known = kinds(found)
    if known is None:
        return None
    if "array" not in known:
        raise CatalogueError(check.file, check.id, "each", f"yields {in_words(known)}, not an array "
                             f"(in {check.each.text})")
    return union(shape.elements() for shape in found if "array" in shape.kinds())
