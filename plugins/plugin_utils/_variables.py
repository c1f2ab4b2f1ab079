# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Options of an action taken from the variables of a role, without a template for each option of each host.

The defaults of a role are texts like `{{ gpuhost_profile | default('inference') }}`. Ansible compiles two templates for
an option that a task fills from one, in every worker anew: for the options of an audit a sixth of its time.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_SHARED = re.compile(r"\{\{ (gpuhost_\w+) \| default\((.+)\) \}\}")
_WORDS = {"true": True, "false": False}
_TEMPLATE = re.compile(r"\{[{%#]")


def options(prefix: str, names: Iterable[str], variables: Mapping[str, Any],
            template: Callable[[Any], Any]) -> dict[str, Any]:
    """The options among `names` for which there is a variable `<prefix>_<name>`, with its value.

    `variables` are those of the task as Ansible keeps them, `template` is what renders one.
    """
    return {name: _value(variables[f"{prefix}_{name}"], variables, template) for name in names
            if f"{prefix}_{name}" in variables}


def _value(raw: Any, variables: Mapping[str, Any], template: Callable[[Any], Any]) -> Any:
    if _is_plain(raw):
        return raw
    shared = _SHARED.fullmatch(raw) if isinstance(raw, str) else None
    if shared and shared[1] not in variables:
        try:
            return _WORDS[shared[2]] if shared[2] in _WORDS else ast.literal_eval(shared[2])
        except (ValueError, SyntaxError):
            return template(raw)
    if shared and _is_plain(variables[shared[1]]):
        return variables[shared[1]]
    return template(raw)


def _is_plain(value: Any) -> bool:
    """Whether a value is what it says: no template, and no container that may hold one."""
    return value is None or isinstance(value, (int, float)) or (isinstance(value, str) and not _TEMPLATE.search(value))
