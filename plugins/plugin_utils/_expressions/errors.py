# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Errors of expressions and catalogues, with messages that users can act on."""
from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from .fact_words import fact_in_words

NOT_RECORDED = "not_recorded"
NO_RECORD = "no record of "         # begins the message of a fact that a recording lacks
STATUS_IN_WORDS = {
    "absent": "not present on this host",
    "denied": "it needs root",
    "read_only": "it is read-only",
    "asleep": "the device is suspended and was not woken",
    "gone": "the device is gone (it reads all ones)",
    "passed_through": "the device belongs to a guest",
    "unparsable": "the content is not valid",
    "not_recorded": "the recording does not have it",
}


class MissingPackage(Exception):
    """A Python package that the controller needs is not installed."""

    def __init__(self, package: str, purpose: str) -> None:
        super().__init__(f"the Python package {package} is needed on the controller to {purpose}: "
                         f"pip install {package} into the environment that runs Ansible")


class CatalogueError(ValueError):
    """A check, a profile, a waiver or an override is invalid."""

    def __init__(self, file: str, check: str | None, key: str | None, message: str) -> None:
        self.file, self.check, self.key, self.message = file, check, key, message
        where = [file, f"check {check}" if check else None, key]
        super().__init__(": ".join([part for part in where if part] + [message]))


class ExpressionError(Exception):
    """An expression is invalid, or has no answer for these facts."""

    def __init__(self, message: str, node: Any = None) -> None:
        super().__init__(message)
        self.node = node            # the part of the expression where evaluation stopped
        self.text: str | None = None
        self.where: str | None = None

    @property
    def message(self) -> str:
        return self.args[0]

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.message}" + (f" (in {self.text})" if self.text else "")


class BadExpression(ExpressionError):
    """The text is not strict jmespath: bad syntax, an unknown function, a wrong number of arguments."""


class MissingName(ExpressionError):
    """A name or an index that the value does not have."""


class BadValue(ExpressionError):
    """Values that cannot be compared, or that a function does not accept."""


class Unreadable(ExpressionError):
    """The expression reached a reading that is not ok."""

    def __init__(self, status: str, node: Any = None, why: str | None = None) -> None:
        super().__init__("", node)
        self.status = status
        self.why = why              # a whole sentence, if the derived value has one
        self.name = ""              # the path of the fact
        self.owner: str | None = None

    def place(self, element: Any) -> None:
        """Remember which element of a list the reading belongs to; the innermost one comes first."""
        if self.owner is None and isinstance(element, dict):
            self.owner = next((element[key] for key in ("bdf", "policy", "node", "name", "id")
                               if isinstance(element.get(key), str)), None)

    @property
    def fact(self) -> str:
        """What could not be read, in words: `the kernel log of this boot (dmesg)`, `ACS (lspci -vvv) of 0000:41:00.0`.
        """
        words = fact_in_words(self.name) if self.name else "a fact"
        return f"{words} of {self.owner}" if self.owner else words

    @property
    def message(self) -> str:
        if self.status == NOT_RECORDED:
            return f"{NO_RECORD}{self.fact}: {self.why or STATUS_IN_WORDS[NOT_RECORDED]}"
        return self.why or f"{self.fact} could not be read: {STATUS_IN_WORDS.get(self.status, self.status)}"


def nearest(name: str, known: Iterable[str]) -> str:
    """`: did you mean 'driver'?`, or an empty string if no known name is similar."""
    found = difflib.get_close_matches(name, list(known), 1)
    return f": did you mean {found[0]!r}?" if found else ""


_KINDS = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array",
          dict: "object"}


def kind(value: Any) -> str:
    """The JSON type of a value: object, array, string, number, boolean or null."""
    return _KINDS.get(type(value)) or type(value).__name__


def in_words(kinds: Iterable[str]) -> str:
    """`a string`, `an array or null`."""
    return " or ".join(name if name == "null" else f"an {name}" if name[0] in "ao" else f"a {name}"
                       for name in sorted(kinds))
