# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether a run was made under the same conditions as the first one, so that the two can be compared.

Conditions that concern a single run (temperature, clocks, load, new GPU users during the run) are checked where the run
is made, against the limits of the benchmark.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from .._render.text import one_line

# Discarded runs are repeated until they exceed both this share of all runs and this number.
DISCARDED_SHARE, DISCARDED_ALWAYS = 1 / 4, 3


def may_discard(runs: int) -> int:
    """The number of runs that may be discarded before the experiment gives up."""
    return max(DISCARDED_ALWAYS, int(runs * DISCARDED_SHARE))


def newcomer(run: Mapping[str, Any], first: Mapping[str, Any], chosen: bool) -> str | None:
    """A user of a GPU that was not there before the first run, None if there is no such user.

    `chosen`: the user listed who may use a GPU, and that was checked already. Users are compared by command and
    container, as a restarted workload has another pid.
    """
    if chosen or _users(first) is None or _users(run) is None:
        return None
    more = _users(run) - _users(first)
    return f"since the first run {', '.join(sorted(more))} started to use a GPU" if more else None


def rebooted(run: Mapping[str, Any], first: Mapping[str, Any]) -> bool:
    """Whether the host was rebooted since the first run, which undoes every setting."""
    known = [boot for boot in (boot_of(run), boot_of(first)) if boot]
    return len(set(known)) > 1


def boot_of(run: Mapping[str, Any]) -> str | None:
    return _before(run).get("boot_id")


def _users(run: Mapping[str, Any]) -> Counter[str] | None:
    users = _before(run).get("users")
    return None if users is None else Counter(_user(user) for user in users)


def _user(user: Mapping[str, Any]) -> str:
    return one_line(f"{user['command']}{' in ' + str(user['container']) if user.get('container') else ''}")


def _before(run: Mapping[str, Any]) -> Mapping[str, Any]:
    return (run.get("conditions") or {}).get("before") or {}
