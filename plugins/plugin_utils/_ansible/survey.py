# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Survey answers, which are strings: an empty field is an unset variable, a list has one line per entry, a mapping is
YAML."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

_EMPTY_OF_TYPE: dict[str, Any] = {"list": [], "dict": {}}


def is_empty(value: Any) -> bool:
    """Whether the value counts as unset: null, or only white space."""
    return value is None or (isinstance(value, str) and not value.strip())


def or_default(value: Any, default: Any) -> Any:
    """`value` converted from a survey's string, `default` if it is empty.

    A string becomes a list or a mapping if the default is one, but stays a string if it is neither: a path, or words
    with commas, which Ansible splits."""
    if is_empty(value):
        return default
    if isinstance(value, str) and isinstance(default, (list, dict)):
        return _collection(value)
    return value


def arguments(given: Mapping[str, Any], spec: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The arguments of a task without the empty ones, so that their defaults apply."""
    return {name: value if name not in spec else or_default(value, _empty(spec[name]))
            for name, value in given.items() if name not in spec or not is_empty(value)}


def _empty(option: Mapping[str, Any]) -> Any:
    return option.get("default", _EMPTY_OF_TYPE.get(option["type"]))


def _collection(text: str) -> Any:
    found = None
    if "\n" in text.strip() or ": " in text or text.lstrip()[:1] in ("[", "{", "-"):
        try:
            found = yaml.safe_load(text)
        except yaml.YAMLError:
            found = None
    if isinstance(found, (list, dict)):
        return found
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return text
    # A line may hold several words, separated by commas.
    return [word.strip() for line in lines for word in line.split(",") if word.strip()]
