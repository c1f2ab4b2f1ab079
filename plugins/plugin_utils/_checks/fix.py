# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The fix of a finding: what to do, the change that a tune would make, and why it is not planned."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._expressions.errors import ExpressionError
from .._expressions.expression import evaluate
from .._expressions.template import Template
from .desired_state import form
from .effective import EffectiveCheck

_TEXTS = ("how", "risk", "undo", "persist")


def describe_fix(effective: EffectiveCheck, verdict: str, reason: str | None, waived: dict | None,
                 scope: dict[str, Any],
                 show: Callable[[Template | None, dict[str, Any]], str | None]) -> dict[str, Any]:
    """`fix` of a finding. What passes needs none; what is unknown or does not apply keeps its address for the plan."""
    fix = effective.check.fix
    change, problem = (None, None) if verdict == "pass" or fix.tunable is None else _change(effective, scope)
    obstacle = None
    if fix.kind == "runtime" and verdict == "fail":
        obstacle = problem or _obstacle(effective, waived, scope, show)
    elif fix.kind == "runtime" and verdict != "pass":
        obstacle = f"{verdict.replace('_', ' ')}: {reason}"
    texts = {key: show(getattr(fix, key), scope) if verdict == "fail" else None for key in _TEXTS}
    return {"class": fix.kind, "change": change, **texts,
            "planned": fix.kind == "runtime" and verdict == "fail" and obstacle is None,
            "not_planned_because": obstacle}


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
        raise ValueError("the check writes one fixed value, and another one is wanted here: name it in gpuhost_values")
    return fix.value.render(scope) if isinstance(fix.value, Template) else fix.value


def _obstacle(effective: EffectiveCheck, waived: dict | None, scope: dict[str, Any],
              show: Callable[[Template | None, dict[str, Any]], str | None]) -> str | None:
    if waived:
        return f"waived until {waived['expires']}: {waived['reason']}"
    return effective.left_out or _unmet(effective, scope, show)


def _unmet(effective: EffectiveCheck, scope: dict[str, Any],
           show: Callable[[Template | None, dict[str, Any]], str | None]) -> str | None:
    """The first condition of plan_if that does not hold."""
    for condition in effective.check.plan_if:
        try:
            answer = evaluate(condition.expression, scope)
        except ExpressionError as error:
            return error.message
        if answer is False:
            return show(condition.otherwise, scope) or f"it is only planned where {condition.expression.text}"
        if answer is not True:
            return f"plan_if: {condition.expression.text} is neither true nor false"
    return None
