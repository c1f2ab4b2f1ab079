# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Remove secrets and undecodable bytes from facts: the last step before they leave the host."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .names import secrecy
from .text import redact
from .values import MASKED, is_secret
from .words import is_secret_of

# Values of tunables: restore writes them back, and those that hold secrets are never read.
_VALUES_OF_TUNABLES = frozenset(("sysctl", "tunables"))
_NAMES = ("name", "key", "option", "module")
_HOLD_TEXT = frozenset((str, dict, list))


def redact_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Replace secrets in `facts`, plain JSON types, by MASKED; changes them in place, as a copy takes time."""
    known: dict[str, str] = {}
    for section, found in facts.items():
        if section in _VALUES_OF_TUNABLES:
            facts[section] = _walk(found, _encodable, {})
        else:
            facts[section] = _walk(found, _clean, known)
    return facts


def _clean(text: str) -> str:
    return _encodable(redact(text))


def _walk(thing: Any, clean: Callable[[str], str], known: dict[str, str]) -> Any:
    """Clean every text in `thing`; `known` caches the results, as a few texts recur thousands of times."""
    kind = type(thing)
    if kind is str:
        return known[thing] if thing in known else known.setdefault(thing, clean(thing))
    if kind is dict:
        _walk_entries(thing, clean, known)
        if clean is _clean and "value" in thing:
            _redact_pair(thing)
    elif kind is list:
        before: Any = None
        for position, value in enumerate(thing):
            if type(value) in _HOLD_TEXT:
                split = (isinstance(value, str) and isinstance(before, str) and clean is _clean
                         and is_secret_of(before, value))
                thing[position] = MASKED if split else _walk(value, clean, known)
            before = value
    return thing


def _walk_entries(entry: dict[str, Any], clean: Callable[[str], str], known: dict[str, str]) -> None:
    for key, value in entry.items():
        if type(value) in _HOLD_TEXT:
            entry[key] = _walk(value, clean, known)
    if not all(map(str.isascii, entry)):
        odd = {key: _encodable(key) for key in entry if not key.isascii()}
        for key, shown in odd.items():
            entry[shown] = entry.pop(key)


def _redact_pair(entry: dict[str, Any]) -> None:
    """Mask `{name: psk, value: ...}` and the like, in which name and value are separate."""
    value = entry["value"]
    for name in _NAMES:
        if isinstance(value, str) and isinstance(entry.get(name), str):
            level = secrecy(entry[name])
            if level and is_secret(value, entry[name], level):
                entry["value"] = MASKED


def _encodable(text: str) -> str:
    r"""Escape bytes that are not UTF-8, which file names may contain, as `\xff`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text
