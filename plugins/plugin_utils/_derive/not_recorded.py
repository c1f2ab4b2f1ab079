# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Facts missing from a recording, `{status: not_recorded, value: null, why}`, and the values derived from them.

Such a reading may replace any fact, also a plain one, a list or a whole section. While values are derived it is a Gap:
any use of it raises NotRecorded instead of treating it as nothing or an empty list, and settle() then puts a gap in
place of the derived value.
"""
from __future__ import annotations

import marshal
from collections.abc import Iterable
from typing import Any, Callable

STATUS = "not_recorded"
_IN_BYTES = STATUS.encode()


class NotRecorded(Exception):
    """A derived value depends on a fact that a recording lacks; the message is the reason."""


class Gap:
    """A fact that is not recorded, and `why`. Every use of it raises NotRecorded."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why

    def _raise(self, *_arguments: Any) -> Any:
        raise NotRecorded(self.why)

    __getitem__ = __iter__ = __len__ = __bool__ = __contains__ = __eq__ = __ne__ = __hash__ = __lt__ = __gt__ = _raise
    __add__ = __radd__ = __sub__ = __or__ = __ror__ = __str__ = __format__ = _raise

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotRecorded(self.why)


class Partial(dict):
    """A mapping with a Gap in it: reading that entry raises NotRecorded, even to compare it with None."""

    def __getitem__(self, key: Any) -> Any:
        return whole(dict.__getitem__(self, key))

    def get(self, key: Any, otherwise: Any = None) -> Any:
        return whole(dict.get(self, key, otherwise))

    def values(self) -> Any:
        return map(whole, dict.values(self))

    def items(self) -> Any:
        return ((key, whole(value)) for key, value in dict.items(self))


def whole(thing: Any) -> Any:
    """The argument itself; raises NotRecorded for a Gap."""
    if isinstance(thing, Gap):
        raise NotRecorded(thing.why)
    return thing


def partial(entries: dict[str, Any]) -> dict[str, Any]:
    """The mapping, as a Partial if it has gaps."""
    return Partial(entries) if any(isinstance(value, Gap) for value in dict.values(entries)) else entries


def is_gap(thing: Any) -> bool:
    """Whether a fact is a reading that is not recorded."""
    return isinstance(thing, dict) and thing.get("status") == STATUS and thing.get("value", thing) is None


def with_gaps(thing: Any) -> Any:
    """Facts with a Gap for every reading `not_recorded`; parts without one are not copied."""
    return _with_gaps(thing) if _may_have_gaps(thing) else thing


def _may_have_gaps(thing: Any) -> bool:
    """Whether the word `not_recorded` is anywhere in it. A live host's facts never have it, and several parts of an
    audit ask: writing them out in C takes a sixth of the time of looking at each in Python."""
    try:
        return _IN_BYTES in marshal.dumps(thing)
    except ValueError:          # not plain JSON types
        return True


def _with_gaps(thing: Any) -> Any:
    if isinstance(thing, dict):
        if is_gap(thing):
            return Gap(thing.get("why") or STATUS)
        changed = {name: new for name, value in thing.items()
                   if type(value) in (dict, list) and (new := _with_gaps(value)) is not value}
        return partial({**thing, **changed}) if changed else thing
    if isinstance(thing, list):
        new_items = [_with_gaps(item) if type(item) in (dict, list) else item for item in thing]
        return new_items if any(new is not old for new, old in zip(new_items, thing)) else thing
    return thing


def without_gaps(thing: Any) -> Any:
    """The reverse of with_gaps(): plain JSON types."""
    if isinstance(thing, Gap):
        return {"status": STATUS, "value": None, "why": thing.why}
    if isinstance(thing, dict):
        changed = {name: new for name, value in dict.items(thing) if (new := without_gaps(value)) is not value}
        return {**thing, **changed} if changed else thing
    if isinstance(thing, list):
        new_items = list(map(without_gaps, thing))
        return new_items if any(new is not old for new, old in zip(new_items, thing)) else thing
    return thing


def recorded(ask: Callable[[], Any]) -> Any:
    """What `ask` returns, or a Gap if that depends on one."""
    try:
        return ask()
    except NotRecorded as why:
        return Gap(str(why))


def settle(asked: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """recorded() of each entry separately."""
    return partial({name: recorded(ask) for name, ask in asked.items()})


def several(names: Iterable[str], ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The mapping that `ask` returns, or these names with a Gap each."""
    found = recorded(ask)
    return dict.fromkeys(names, found) if isinstance(found, Gap) else found


def shown(fact: Any, otherwise: Any) -> Any:
    """A plain fact for display, `otherwise` if it is not recorded."""
    return otherwise if is_gap(fact) else fact
