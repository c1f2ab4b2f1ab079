# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether a run of a benchmark is valid: not too hot, not too loaded, not throttled, no other GPU users."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._render.text import one_line
from .definition import Limits


def outside(limits: Limits, conditions: Mapping[str, Any], own: Iterable[Mapping[str, Any]] = ()) -> str | None:
    """Why a run does not count, None if it does. Values that could not be read discard nothing.

    `own` are processes that the benchmark itself left running.
    """
    before, after = conditions.get("before") or {}, conditions.get("after") or {}
    return _too_hot(limits, before, after) or _too_loaded(limits, before) or _slowed(limits, after) or \
        _not_alone(limits, before, after, {process["pid"] for process in own})


def _too_hot(limits: Limits, before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    if limits.temperature_c is None:
        return None
    for when, state in (("before", before), ("after", after)):
        for gpu in state.get("gpus") or []:
            if gpu["temperature_c"] is not None and gpu["temperature_c"] > limits.temperature_c:
                return (f"{gpu['bdf']} had {gpu['temperature_c']:g} degrees {when} it, the limit is "
                        f"{limits.temperature_c:g}")
    return None


def _too_loaded(limits: Limits, before: Mapping[str, Any]) -> str | None:
    load = before.get("load1")
    if limits.load1 is None or load is None or load <= limits.load1:
        return None
    return f"the load was {load:g} before it, the limit is {limits.load1:g}"


def _slowed(limits: Limits, after: Mapping[str, Any]) -> str | None:
    for gpu in after.get("gpus") or []:
        found = [name for name in gpu["throttle"] or [] if name in limits.throttle]
        if found:
            return f"{gpu['bdf']} was throttled after it: {', '.join(found)}"
    return None


def _not_alone(limits: Limits, before: Mapping[str, Any], after: Mapping[str, Any], own: set[int]) -> str | None:
    earlier = before.get("users") or []
    later = [user for user in after.get("users") or [] if user["pid"] not in own]
    if limits.users is None:
        known = {(user["command"], user["container"]) for user in earlier}
        # Without a list of users from before, none can be called new.
        others = [] if before.get("users") is None else \
            [user for user in later if (user["command"], user["container"]) not in known]
        message = "started to use a GPU meanwhile"
    else:
        allowed = {name[:15] for name in limits.users}      # the kernel truncates the name of a command
        others = [user for user in [*earlier, *later] if user["command"] not in allowed]
        message = "used a GPU"
    if not others:
        return None
    first = others[0]
    inside = f" in {first['container']}" if first["container"] else ""
    return one_line(f"{first['command']} (pid {first['pid']}){inside} {message}")
