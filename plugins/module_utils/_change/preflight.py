# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Preflight: predict the outcome of a change from its reading, without writing."""
from __future__ import annotations

import errno
from typing import Any

from .._host.reading import Reading
from .._tunables.wanted import Wanted
from .tunable import KERNEL_DECIDES, WOULD_CHANGE, Change, Refused, Tunable


def preflight(tunable: Tunable, wanted: Wanted, reading: Reading, peers: dict[str, Any]) -> Change:
    """Return a change that would be made, is not needed, or is known to be refused.

    `peers` are the target values of the group's tunables, by address.
    """
    change = Change(tunable.address, reading.value, wanted.asked(), reading.value)
    try:
        _require_allowed(tunable, wanted, reading)
        if not satisfied(tunable, wanted, reading.value):
            _require_guards(tunable, wanted, reading.value)
            change.after = str(wanted.value) if wanted.at_least else wanted.value
            certainty = _predict(tunable, wanted, change, peers)
            change.settle(WOULD_CHANGE, tunable.note)
            change.certainty, change.inexact = certainty, list(tunable.inexact)
    except Refused as why:
        change.refuse(why)
        change.after = change.before
    return change


def _require_allowed(tunable: Tunable, wanted: Wanted, reading: Reading) -> None:
    if not reading.ok:
        raise Refused(describe_unreadable(reading), error=reading.detail)
    if wanted.at_least and _number(tunable, reading.value) is None:
        raise Refused(f"at_least needs a single number, and this is {reading.value!r}")


def _require_guards(tunable: Tunable, wanted: Wanted, value: Any) -> None:
    if wanted.identity is not None and tunable.identity() != wanted.identity:
        raise Refused(f"another {tunable.bearer}: found {tunable.identity()}, expected {wanted.identity}")
    if wanted.only_from is None:
        return
    # Several: a killed run may or may not have written, and the kernel may have changed the value.
    several = wanted.only_from if isinstance(wanted.only_from, tuple) else (wanted.only_from,)
    if any(tunable.same(value, one) for one in several):
        return
    if len(several) > 1 and tunable.half_written(several[0], several[-1], value):
        return
    raise Refused(f"changed by something else: found {value}, expected {' or '.join(map(str, several))}")


def _predict(tunable: Tunable, wanted: Wanted, change: Change, peers: dict[str, Any]) -> str:
    try:
        return tunable.predict(change.before, change.after, peers)
    except Refused as why:
        # The kernel held this very value before, so it may accept it.
        if wanted.restores and (why.but_back or why.number == errno.EINVAL):
            return KERNEL_DECIDES
        raise


def satisfied(tunable: Tunable, wanted: Wanted, value: Any) -> bool:
    """Whether a value satisfies what is wanted."""
    if wanted.at_least:
        number = _number(tunable, value)
        return number is not None and number >= wanted.value
    return tunable.same(value, wanted.value)


def _number(tunable: Tunable, value: Any) -> int | None:
    try:
        return tunable.number(value)
    except ValueError:
        return None


def describe_unreadable(reading: Reading) -> str:
    return ": ".join(filter(None, (reading.status, reading.detail)))
