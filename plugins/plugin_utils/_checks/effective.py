# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Effective checks of one run, from the profile and the user's choices; mistakes in these are found here."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils._tunables.kinds import OPT_IN
from .._expressions.errors import CatalogueError, nearest
from .._expressions.expression import Expression
from .catalogue import Profile
from .check import Check
from .findings import PRIORITIES

_OVERRIDES = "gpuhost_overrides"
_OVERRIDE_KEYS = ("value", "priority", "plan")


class EffectiveCheck(NamedTuple):
    """One check as it is judged in this run."""

    check: Check
    value: Any                      # the wanted value, as its author wrote it
    wanted: Any                     # the same, parsed
    source: Expression | None       # or the expression that computes it
    priority: str
    escalates: bool                 # the priority was not overridden
    left_out: str | None            # why the user's choice excludes a change; None: it may be planned
    origin: str                     # who wants the value, for later messages


def select(checks: Sequence[Check], only: Collection[str], skip: Collection[str]) -> list[Check]:
    """The checks that gpuhost_only, or else the profile, and gpuhost_skip leave, in the order of the catalogue."""
    require_known(only, checks, "gpuhost_only")
    require_known(skip, checks, "gpuhost_skip")
    return [check for check in checks if (not only or check.id in only) and check.id not in skip]


def require_known(names: Iterable[str], checks: Sequence[Check], origin: str, others: Iterable[str] = ()) -> None:
    known = [*(check.id for check in checks), *others]
    for name in names:
        if name not in known:
            raise CatalogueError(origin, None, None, f"there is no check {name!r}{nearest(str(name), known)}")


def effective_checks(checks: Sequence[Check], profile: Profile, overrides: Mapping[str, Any],
                     include: Collection[str]) -> dict[str, EffectiveCheck]:
    """The effective check of every check, by id."""
    require_known(overrides, checks, _OVERRIDES)
    require_known(include, checks, "gpuhost_include", OPT_IN)
    return {check.id: _terms(check, profile, _override(check, overrides.get(check.id, {})), check.id in include)
            for check in checks}


def _override(check: Check, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise CatalogueError(_OVERRIDES, check.id, None, f"{given!r} is not a mapping: write {{value: {given}}}")
    for key in given:
        if key not in _OVERRIDE_KEYS:
            raise CatalogueError(_OVERRIDES, check.id, None, f"unknown key {key!r}{nearest(str(key), _OVERRIDE_KEYS)}")
    if given.get("priority", "info") not in PRIORITIES:
        raise CatalogueError(_OVERRIDES, check.id, "priority",
                             f"{given['priority']!r} is none of {', '.join(PRIORITIES)}")
    if not isinstance(given.get("plan", True), bool):
        raise CatalogueError(_OVERRIDES, check.id, "plan", f"{given['plan']!r} is neither true nor false")
    return given


def _terms(check: Check, profile: Profile, override: Mapping[str, Any], included: bool) -> EffectiveCheck:
    value, wanted, source = check.expect.value, check.expect.wanted, check.expect.source
    origin = _OVERRIDES if "value" in override else profile.file if check.id in profile.values else None
    if origin is not None:
        value, source = override.get("value", profile.values.get(check.id)), None
        wanted = check.wanted(value, origin)
    priority = override.get("priority", profile.priorities.get(check.id))
    if priority is not None:
        check.allow_priority(priority, _OVERRIDES if "priority" in override else profile.file)
    return EffectiveCheck(check, value, wanted, source, priority or check.priority, priority is None,
                          _left_out(check, profile, override, included), _origin(check, profile, override, included))


def _origin(check: Check, profile: Profile, override: Mapping[str, Any], included: bool) -> str:
    """Where the wanted value is defined, and what has it planned."""
    if "value" in override:
        return _OVERRIDES
    if check.id in profile.values:
        return profile.shown
    if included:
        return f"check {check.id}, planned by gpuhost_include"
    if override.get("plan"):
        return f"check {check.id}, which {_OVERRIDES} plans"
    return f"check {check.id}" + (f", which {profile.shown} plans" if check.id in profile.plan else "")


def _left_out(check: Check, profile: Profile, override: Mapping[str, Any], included: bool) -> str | None:
    """Why a change is not planned; naming a check, also by giving it a value, plans it."""
    if check.fix.kind != "runtime":
        if included or override.get("plan"):
            raise CatalogueError("gpuhost_include" if included else _OVERRIDES, check.id, None,
                                 f"its fix has the class {check.fix.kind}: a tune only makes runtime changes")
        return None
    if "plan" in override:
        return None if override["plan"] else f"{_OVERRIDES} says plan: false"
    if included or "value" in override or check.id in profile.plan:
        return None
    if profile.only and check.id not in profile.only:
        return f"not in the profile {profile.name}"
    if check.id in profile.leave:
        return f"not planned by the profile {profile.name}"
    if check.contested:
        return f"it is contested and not listed in the profile {profile.name}: use gpuhost_include"
    if not check.plan:
        return "it is planned only on request: use gpuhost_include, or a value in gpuhost_values"
    if profile.evidence is not None and check.evidence not in profile.evidence:
        grades = " and ".join(sorted(profile.evidence))
        return f"its evidence is {check.evidence}, and the profile {profile.name} only plans {grades}"
    return None
