# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The functions of strict jmespath; _expressions/expression.py explains how they differ from the plain ones."""
from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from .errors import BadValue, kind
from .readings import equal

if TYPE_CHECKING:
    from .nodes import Node

try:
    from jmespath.exceptions import JMESPathError
    from jmespath.functions import Functions, signature
except ImportError:
    JMESPathError = ValueError
    Functions = object

    def signature(*_arguments):
        return lambda function: function

_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
# Functions whose first argument is evaluated in place, with their argument types.
DEFERRED = {"status": ({"types": ["expref"]},), "value_or": ({"types": ["expref"]}, {"types": []})}


class StrictFunctions(Functions):
    """jmespath's functions, made strict if necessary, and this collection's."""

    def call(self, node: Node, arguments: list) -> Any:
        try:
            result = self.call_function(node.value, arguments)
        except (JMESPathError, TypeError, ValueError, ArithmeticError) as error:
            raise BadValue(f"{node.value}(): {str(error)[:200]}", node) from None
        if isinstance(result, float) and not math.isfinite(result):
            raise BadValue(f"{node.value}(): the result is not a JSON number", node)
        return result

    @signature({"types": []})
    def _func_to_number(self, value):
        if kind(value) == "number":
            return value
        if not isinstance(value, str) or not _NUMBER.fullmatch(value):
            raise ValueError(f"{value!r} is not a number")
        return int(value) if value.lstrip("-").isdigit() else float(value)

    @signature({"types": ["array", "string"]}, {"types": []})
    def _func_contains(self, subject, search):
        if isinstance(subject, str):
            return search in subject
        return True in [equal(item, search, None) for item in subject]


def signatures() -> dict[str, tuple]:
    """The argument types of every function."""
    return {**{name: entry["signature"] for name, entry in StrictFunctions.FUNCTION_TABLE.items()}, **DEFERRED}
