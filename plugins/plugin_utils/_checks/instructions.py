# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Fix texts in which lines that begin with `$ ` are commands.

Commands are pasted from a report into a root shell. So values from a host are quoted for the shell, and if a value is
not available or contains a control character, the text has no commands at all.
"""
from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._expressions.errors import ExpressionError, Unreadable
from .._expressions.expression import Expression, evaluate
from .._expressions.template import Template, compile_template

MARK = "$ "


class Line(NamedTuple):
    template: Template
    is_command: bool

    def commands(self, scope: dict[str, Any]) -> list[str]:
        """The commands of the line over `scope`; ExpressionError if a value is not available.

        A line that is a single expression may yield none (null, false or an empty string), one, or a list, and must do
        its own quoting.
        """
        if self.is_choice:
            answer = evaluate(self.template.parts[0], scope) or []
            return [str(line) for line in (answer if isinstance(answer, list) else [answer])]
        return ["".join(part if isinstance(part, str) else shlex.quote(text)
                        for part, text in zip(self.template.parts, self.template.exact(scope)))]

    @property
    def is_choice(self) -> bool:
        return len(self.template.parts) == 1 and isinstance(self.template.parts[0], Expression)


class Instructions(NamedTuple):
    text: str               # as the check has it, without the marks
    lines: tuple[Line, ...]

    def templates(self) -> Iterator[Template]:
        return (line.template for line in self.lines)

    def commands(self, scope: dict[str, Any]) -> list[str]:
        """Only the commands, to be run in this order."""
        try:
            found = [command for line in self.lines if line.is_command for command in line.commands(scope)]
        except ExpressionError:
            return []
        return found if all(command.isprintable() for command in found) else []

    def show(self, scope: dict[str, Any], show: Callable[[Template, dict[str, Any]], str]) -> str:
        """The whole text for people, each command on its own line."""
        return "\n".join(dict.fromkeys(text for line in self.lines for text in _shown(line, scope, show)))


def _shown(line: Line, scope: dict[str, Any], show: Callable[[Template, dict[str, Any]], str]) -> list[str]:
    try:
        if line.is_command:
            return line.commands(scope)
        if line.is_choice:
            evaluate(line.template.parts[0], scope)
    except ExpressionError as error:
        if line.is_choice and isinstance(error, Unreadable):    # nothing is left of the line to show
            return [f"It depends on what could not be read: {error.message}."]
    return [show(line.template, scope)]


def compile_instructions(text: str, where: str = "") -> Instructions:
    """Compile the `text` of a check; raises BadExpression like compile_template()."""
    lines = text.splitlines()
    if not any(line.startswith(MARK) for line in lines):
        return Instructions(text, (Line(compile_template(text, where), False),))
    return Instructions("\n".join(line.removeprefix(MARK) for line in lines), tuple(
        Line(compile_template(line.removeprefix(MARK), where), line.startswith(MARK)) for line in lines))
