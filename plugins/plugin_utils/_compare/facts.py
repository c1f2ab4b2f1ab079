# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Facts that differ between two hosts, without those that always vary."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from .leaves import THERE, Leaf, Unread, leaves, parent
from .rules import Rules


class FactDifferences(NamedTuple):
    """`differing`: `{leaf: (value here, value there)}`. `unread`: leaves missing in one audit, with the reason.
    `varying`: the number of values that were ignored, by reason."""

    differing: dict[Leaf, tuple[Any, Any]]
    unread: dict[Leaf, str]
    varying: Counter[str]


def differences(first: Mapping[str, Any], second: Mapping[str, Any], rules: Rules) -> FactDifferences:
    """The differences; `second` already has the names of the first host."""
    here, there = leaves(first, rules), leaves(second, rules)
    found = FactDifferences({}, {}, Counter())
    for leaf in dict.fromkeys([*here, *there]):
        ours, theirs = here.get(leaf, _MISSING), there.get(leaf, _MISSING)
        if ours == theirs and not _lacks(ours):
            continue
        why = rules.why_it_varies(*leaf)
        if why is not None:
            found.varying[why] += 1
        elif ours is _MISSING or theirs is _MISSING:
            _one_sided(leaf, here, there, found)
        else:
            _hold(leaf, ours, theirs, found)
    return found


_MISSING = object()
# A missing file is a value; a reading with any other status than ok is not.
_ABSENT = Unread("absent")


def _lacks(value: Any) -> bool:
    return isinstance(value, Unread) and value != _ABSENT


def _hold(leaf: Leaf, ours: Any, theirs: Any, found: FactDifferences) -> None:
    unread = [f"{one.status} {where}" for one, where in ((ours, "on the first"), (theirs, "on the second"))
              if _lacks(one)]
    if len(unread) == 2 and ours == theirs:
        found.unread[leaf] = f"{ours.status} on both"
    elif unread:
        found.unread[leaf] = " and ".join(unread)
    else:
        found.differing[leaf] = (_plain(ours), _plain(theirs))


def _one_sided(leaf: Leaf, here: Mapping[Leaf, Any], there: Mapping[Leaf, Any], found: FactDifferences) -> None:
    """A leaf in only one audit: the item may not exist, or the part it belongs to was not read or is null."""
    mine, other = (here, there) if leaf in here else (there, here)
    if mine[leaf] == ():
        return                      # an empty list here: the items there are reported themselves
    above = parent(leaf)
    while above is not None and above not in other:
        if above in mine and above.fact.endswith("[]"):
            return                  # the item itself is reported
        above = parent(above)
    if above is None and not leaf.fact.endswith("[]"):
        found.unread[leaf] = "not asked, or recorded by another version"
    elif above is not None and _lacks(other[above]):
        found.unread[above] = f"{other[above].status} on the {'second' if mine is here else 'first'}"
    elif leaf.fact.endswith("[]") or above is None:
        found.differing[leaf] = (THERE, None) if mine is here else (None, THERE)
    elif other[above] not in (THERE, ()):
        value = _plain(other[above])
        found.differing[above] = (THERE, value) if mine is here else (value, THERE)


def _plain(value: Any) -> Any:
    if value == _ABSENT:
        return None
    return list(value) if isinstance(value, tuple) else value
