# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The fix of a finding: what to do, the change a tune would make, and why it is not planned."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._expressions.errors import ExpressionError
from .._expressions.expression import evaluate
from .._expressions.template import Template
from .by_hand import command, printable, undo
from .desired_state import form
from .effective import EffectiveCheck
from .forbidden import forbidden, read_only
from .reasons import of_nothing

Show = Callable[["Template | None", dict[str, Any]], "str | None"]
_NOTHING_TO_DO = {"change": None, "risk": None, "persist": None, "how": None, "undo": None, "planned": False,
                  "not_planned_because": None}
_NOTHING_BY_HAND = {"commands": [], "undo_commands": [], "forbidden": None}


def describe_fix(effective: EffectiveCheck, verdict: str, reason: str | None, waived: dict | None, subject: str | None,
                 scope: dict[str, Any], show: Show) -> dict[str, Any]:
    """`fix` of a finding: none if it passes; an unknown or inapplicable one keeps its address for the plan."""
    fix = effective.check.fix
    if verdict == "pass":
        return {"class": fix.kind, **_NOTHING_TO_DO}
    change, problem = (None, None) if fix.tunable is None else _change(effective, scope)
    obstacle = None
    if fix.kind == "runtime" and verdict == "fail":
        obstacle = problem or _obstacle(effective, waived, scope, show)
    elif fix.kind == "runtime":
        obstacle = f"{verdict.replace('_', ' ')}: {reason}"
    failed = verdict == "fail"
    texts = {key: show(getattr(fix, key), scope) if failed else None for key in ("risk", "persist")}
    instructions = {key: getattr(fix, key).show(scope, show) if failed and getattr(fix, key) else None
                    for key in ("how", "undo")}
    by_hand = _by_hand_now(effective, change, subject, scope, show) if failed else {}
    return {"class": fix.kind, "change": change, **texts, **instructions, **by_hand,
            "planned": fix.kind == "runtime" and failed and obstacle is None, "not_planned_because": obstacle}


def _by_hand_now(effective: EffectiveCheck, change: dict[str, Any] | None, subject: str | None,
                 scope: dict[str, Any], show: Show) -> dict[str, Any]:
    """`commands` and `undo_commands` for a shell, or why none can be run now."""
    fix = effective.check.fix
    if fix.kind == "runtime":
        by_hand = command(change["address"], change["value"]) if change is not None else ""
        reason = _unmet(effective, scope, show) or read_only(by_hand, scope["host"])
    else:
        reason = forbidden(fix.how.show(scope, show) if fix.how else "", subject, scope["host"])
    if reason is not None:
        return {**_NOTHING_BY_HAND, "forbidden": reason}
    commands = fix.how.commands(scope) if fix.how else []
    undo_commands = fix.undo.commands(scope) if fix.undo else []
    if change is not None:
        back = None if undo_commands else undo(change["address"], scope["host"], scope["actual"])
        commands = commands or printable([command(change["address"], change["value"])])
        undo_commands = undo_commands or printable([back] if back else [])
    return {"commands": commands, "undo_commands": undo_commands, "forbidden": None}


def _change(effective: EffectiveCheck, scope: dict[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
    """`{address, value}`, or why there is no address."""
    fix = effective.check.fix
    try:
        address = fix.tunable.render(scope)
        value = form(address.partition(":")[0], _value(effective, scope))
    except ExpressionError as error:
        return None, error.message
    except ValueError as error:
        return None, f"no value can be written: {error}"
    return {"address": address, "value": value}, None


def _value(effective: EffectiveCheck, scope: dict[str, Any]) -> Any:
    fix, wanted = effective.check.fix, scope["recommended"]
    if fix.value is None:
        return {"at_least": wanted} if effective.check.expect.op == "at_least" else wanted
    follows = isinstance(fix.value, Template) and "recommended" in fix.value.roots
    if not follows and effective.value != effective.check.expect.value:
        raise ValueError("the check writes a fixed value, and another one is wanted here: set it in gpuhost_values")
    return fix.value.render(scope) if isinstance(fix.value, Template) else fix.value


def _obstacle(effective: EffectiveCheck, waived: dict | None, scope: dict[str, Any], show: Show) -> str | None:
    if waived:
        return f"waived until {waived['expires']}: {waived['reason']}"
    return effective.left_out or _unmet(effective, scope, show)


def _unmet(effective: EffectiveCheck, scope: dict[str, Any], show: Show) -> str | None:
    """The message of the first condition of plan_if that is not met."""
    for condition in effective.check.plan_if:
        try:
            answer = evaluate(condition.expression, scope)
        except ExpressionError as error:
            return of_nothing(condition.expression, scope) or error.message
        if answer is False:
            return show(condition.otherwise, scope) or f"it is only planned if {condition.expression.text}"
        if answer is not True:
            return of_nothing(condition.expression, scope) or \
                f"plan_if: {condition.expression.text} is neither true nor false"
    return None
