# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Why a check could not be evaluated, in terms of the host: which fact is not known, and what its file contains.

An expression's own message is only left for a check that does not fit the facts, which only authors of checks see.
"""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .._expressions.errors import ExpressionError, Unreadable, in_words, kind
from .._expressions.expression import Expression, compile_expression, evaluate, names
from .._expressions.fact_words import fact_in_words

_INDEX = re.compile(r"\[[^\]]*\]")


def of_error(key: str, error: ExpressionError, expression: Expression, scope: dict[str, Any]) -> str:
    """Why `expression`, the check's `key`, has no answer."""
    if isinstance(error, Unreadable):
        return _of_file(error, scope["host"])
    return of_nothing(expression, scope) or f"{key}: {error.message} (in {error.text})"


def of_answer(expression: Expression, answer: Any, scope: dict[str, Any]) -> str:
    """Why an answer is neither true nor false."""
    return of_nothing(expression, scope) or \
        f"applies: {expression.text} is {in_words([kind(answer)])}, neither true nor false"


def of_value(expression: Expression | None, problem: Exception, scope: dict[str, Any]) -> str:
    """Why a value cannot be compared; without an expression it is the check's own."""
    if expression is None:
        return str(problem)
    facts = _in_words(_leaves(expression)) or expression.text
    return of_nothing(expression, scope) or f"{facts}: {problem}"


def of_nothing(expression: Expression, scope: dict[str, Any]) -> str | None:
    """`not known here: the CPUs (/proc/cpuinfo)` if a fact that the expression reads is null; else None."""
    missing = _in_words(path for path in _leaves(expression) if _is_null(path, scope))
    return f"not known here: {missing}" if missing else None


def _leaves(expression: Expression) -> list[str]:
    """The paths that the expression reads, without prefixes of others."""
    paths = names(expression)
    return [path for path in paths if not any(other.startswith((f"{path}.", f"{path}[")) for other in paths)]


def _is_null(path: str, scope: dict[str, Any]) -> bool:
    try:
        found = evaluate(compile_expression(path), scope)
    except ExpressionError:
        return False
    return found is None


def _in_words(paths: Iterable[str]) -> str:
    """The facts as a list without duplicates."""
    return ", ".join(dict.fromkeys(map(fact_in_words, paths)))


def _of_file(error: Unreadable, host: dict[str, Any]) -> str:
    """The message; for an unparsable text with the name of its file, if only one fact can be meant."""
    if error.status != "unparsable" or error.why is not None:
        return error.message
    wanted = _INDEX.sub("", error.name.removeprefix("host.").removeprefix("it."))
    files = {entry["path"]: entry["text"] for entry in host.get("unparsable", ())
             if f".{_INDEX.sub('', entry['fact'])}".endswith(f".{wanted}") and entry["path"]}
    if len(files) != 1:
        return error.message
    (path, text), = files.items()
    fact, colon, words = error.message.partition(": ")
    return f"{fact}{colon}{path} holds {text!r}, {words}"
