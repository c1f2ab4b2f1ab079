# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._expressions.errors import ExpressionError, MissingPackage
from ..plugin_utils._expressions.expression import compile_expression, evaluate


def query(data: Any, expression: str) -> Any:
    """The result of a strict JMESPath expression on `data`."""
    try:
        return evaluate(compile_expression(untag(expression), "gpuhost.tuning.query"), untag(data))
    except (ExpressionError, MissingPackage) as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filter gpuhost.tuning.query."""

    def filters(self):
        return {"query": query}
