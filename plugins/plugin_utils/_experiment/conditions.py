# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether a run was made under the conditions of the first one, so that the two can be compared.

What may be said of one run alone (temperature, clocks, load, who came to a GPU while it ran) is judged where the run is
made, by the limits of the benchmark.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from .._render.text import one_line

# Runs outside the limits are made again, until there were more of them than this share of all, and more than this many.
DISCARDED_SHARE, DISCARDED_ALWAYS = 1 / 4, 3


def may_discard(runs: int) -> int:
    """How many runs of an experiment may be discarded before it gives up."""
    return max(DISCARDED_ALWAYS, int(runs * DISCARDED_SHARE))


def newcomer(run: Mapping[str, Any], first: Mapping[str, Any], chosen: bool) -> str | None:
    """Who uses a GPU now and did not before the first run, None for nobody.

    `chosen`: the user said by name who may, and that was judged. A workload that was restarted has another pid, so
    command and container count.
    """
    if chosen or _users(first) is None or _users(run) is None:
        return None
    more = _users(run) - _users(first)
    return f"since the first run {', '.join(sorted(more))} started to use a GPU" if more else None


def rebooted(run: Mapping[str, Any], first: Mapping[str, Any]) -> bool:
    """Whether the host was booted again since the first run: everything that was set ended with it."""
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
