# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Templates: texts with `{expression}` in them; `{{` and `}}` are literal braces."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._render.text import show
from .errors import NOT_RECORDED, BadExpression, BadValue, ExpressionError, Unreadable, in_words, kind
from .expression import Expression, compile_expression, evaluate

_QUOTES = "'\"`"


class Template:
    """A compiled text. `roots` are the names it reads from the scope: without any it is the same for every subject."""

    __slots__ = ("parts", "roots", "text")

    def __init__(self, text: str, parts: list[str | Expression]) -> None:
        self.text, self.parts = text, parts
        self.roots = frozenset(root for part in parts if isinstance(part, Expression) for root in part.roots)

    @property
    def expressions(self) -> list[Expression]:
        return [part for part in self.parts if isinstance(part, Expression)]

    def render(self, scope: dict) -> str:
        """The exact text, for addresses: every expression must yield a string or a whole number."""
        return "".join(self.exact(scope))

    def exact(self, scope: dict) -> list[str]:
        """The text of each of `parts`, as in render()."""
        return [part if isinstance(part, str) else _exact(part, evaluate(part, scope)) for part in self.parts]

    def lacking(self, scope: dict) -> Unreadable | None:
        """The first fact in the text that a recording lacks; None if it has all."""
        for expression in self.expressions:
            try:
                evaluate(expression, scope)
            except Unreadable as error:
                if error.status == NOT_RECORDED:
                    return error
            except ExpressionError:
                continue
        return None

    def show(self, scope: dict) -> str:
        """The text for people: formatted values, and the reason in place of a value that is not available."""
        return "".join(part if isinstance(part, str) else _shown(part, scope) for part in self.parts)


def compile_template(text: str, where: str = "") -> Template:
    """Compile `text` for rendering; BadExpression names an unmatched brace or an invalid expression."""
    parts: list[str | Expression] = []
    for literal, expression in _split(text, where):
        if literal:
            parts.append(literal)
        if expression is not None:
            parts.append(compile_expression(expression, where))
    return Template(text, parts)


def render(text: str, scope: dict) -> str:
    """`text` with its expressions replaced, strictly."""
    return compile_template(text).render(scope)


def _exact(expression: Expression, value: Any) -> str:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    error = BadValue(f"the text needs a string or a whole number here, not {in_words([kind(value)])}")
    error.text, error.where = expression.text, expression.where
    raise error


def _shown(expression: Expression, scope: dict) -> str:
    try:
        return show(evaluate(expression, scope))
    except BadValue:
        return "(not known)"        # a fact is null where a number is needed: nothing that a reader could act on
    except ExpressionError as error:
        return f"({error.message})"


def _split(text: str, where: str) -> Iterator[tuple[str, str | None]]:
    """Pairs of literal text and the expression that follows it, None at the end."""
    literal, position = "", 0
    while position < len(text):
        sign = text[position]
        if sign in "{}" and text[position:position + 2] == sign * 2:
            literal, position = literal + sign, position + 2
        elif sign == "{":
            end = _end(text, position, where)
            yield literal, text[position + 1:end]
            literal, position = "", end + 1
        elif sign == "}":
            raise _stray(text, where, "unmatched }: write }} for a literal brace")
        else:
            literal, position = literal + sign, position + 1
    yield literal, None


def _end(text: str, start: int, where: str) -> int:
    """The position of the brace that closes the one at `start`; braces in quotes do not count."""
    depth, quote, position = 0, "", start
    while position < len(text):
        sign = text[position]
        if quote and sign == "\\":
            position += 1
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in _QUOTES:
            quote = sign
        elif sign in "{}":
            depth += 1 if sign == "{" else -1
            if not depth:
                return position
        position += 1
    raise _stray(text, where, "unclosed {: write {{ for a literal brace")


def _stray(text: str, where: str, message: str) -> BadExpression:
    error = BadExpression(message)
    error.text, error.where = text, where
    return error
