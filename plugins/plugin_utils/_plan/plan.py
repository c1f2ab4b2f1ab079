# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The plan of a tune: from findings to changes, and to skipped changes with the reason."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ...module_utils._change.tunable import REFUSED, SKIPPED, WOULD_CHANGE
from ...module_utils._tunables.kinds import OPT_IN
from ...module_utils._tunables.sysctl_rules import PAIRS
from .._checks.before import before
from .._checks.desired_state import addresses, desired_values, entries, is_zero

__all__ = ("Plan", "addresses", "desired_values", "plan")


class Plan(NamedTuple):
    values: dict[str, dict[str, Any]]       # the setters' input; kinds without an entry are left out
    baseline: dict[str, dict[str, Any]]      # these tunables' values when the facts were read, if known
    changes: list[dict[str, Any]]           # the planned and the skipped, as setters return them

    @property
    def planned(self) -> list[dict[str, Any]]:
        return [change for change in self.changes if change["outcome"] == WOULD_CHANGE]

    @property
    def skipped(self) -> list[dict[str, Any]]:
        return [change for change in self.changes if change["outcome"] == SKIPPED]

    def refused(self, reason: str) -> Plan:
        """The plan of a host that must not be changed: nothing to set, every planned change refused."""
        return self._replace(values={}, changes=[
            {**change, "outcome": REFUSED, "reason": reason} if change["outcome"] == WOULD_CHANGE else change
            for change in self.changes])


def plan(findings: Iterable[dict[str, Any]], extra: Mapping[str, Any] | None = None,
         facts: Mapping[str, Any] | None = None, origins: Mapping[str, str] | None = None,
         named_in: str = "gpuhost_values", opted_in: Collection[str] = ()) -> Plan:
    """The plan from `findings` and the user's own values, which take precedence.

    `extra` has the shape of values, or is a record with `values`; `facts` give the current value if no finding does.
    With `origins` (who wants a value, by check) every change names its own, `named_in` for `extra`. Values of a kind of
    OPT_IN are skipped unless it is among `opted_in`.
    """
    named = desired_values(extra)
    changes: dict[str, dict[str, Any]] = {}
    for finding in findings:
        change = _of_finding(finding, facts or {})
        if change is not None and _says_more(change, changes.get(change["address"])):
            changes[change["address"]] = change
    for kind, name, value in entries(named):
        address = f"{kind}:{name}"
        changes[address] = _of_user(address, value, changes.get(address), facts or {})
        if kind in OPT_IN and kind not in opted_in:
            changes[address].update(outcome=SKIPPED, reason=f"it is planned only on request: list {kind} in "
                                                            "gpuhost_include")
    _yield_to_user(changes, named.get("sysctl", {}))
    if origins is not None:
        by_user = {f"{kind}:{name}" for kind, name, _value in entries(named)}
        for address, change in changes.items():
            change["origin"] = named_in if address in by_user else origins[change["check"]]
    planned = [change for change in changes.values() if change["outcome"] == WOULD_CHANGE]
    return Plan(_shape((one["address"], one["wanted"]) for one in planned),
                _shape((one["address"], one["before"]) for one in planned if one["before"] is not None),
                list(changes.values()))


def _of_finding(finding: dict[str, Any], facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """The change for a finding with a runtime fix; None if there is none."""
    fix = finding["fix"]
    if fix["change"] is None:
        return None
    address, wanted = fix["change"]["address"], fix["change"]["value"]
    return {
        "address": address, "before": before(address, facts, finding["actual"]), "wanted": wanted, "after": None,
        "outcome": WOULD_CHANGE if fix["planned"] else SKIPPED,
        "reason": None if fix["planned"] else fix["not_planned_because"],
        "check": finding["check"], "subject": finding["subject"], "priority": finding["priority"],
        "takes_effect": finding["takes_effect"], "persist": fix["persist"],
    }


def _says_more(change: dict[str, Any], other: dict[str, Any] | None) -> bool:
    """Whether to prefer this change of two checks on one tunable: the one that sets it, else the first, which has the
    higher priority."""
    return other is None or (other["outcome"] == SKIPPED and change["outcome"] == WOULD_CHANGE)


def _of_user(address: str, value: Any, found: dict[str, Any] | None, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The change for a user's value, planned whatever the checks say: the setter refuses an impossible one."""
    known = found or {"check": None, "subject": None, "priority": None, "takes_effect": None, "persist": None,
                      "before": before(address, facts, None)}
    return {**known, "address": address, "wanted": value, "after": None, "outcome": WOULD_CHANGE,
            "reason": "listed in gpuhost_values",
            "persist": known["persist"] if known.get("wanted") == value else None}


def _yield_to_user(changes: dict[str, dict[str, Any]], named: Mapping[str, Any]) -> None:
    """Drop a planned sysctl if the user named its alias."""
    for one, other in (*PAIRS, *(pair[::-1] for pair in PAIRS)):
        planned = changes.get(f"sysctl:{one}")
        if other in named and one not in named and planned and not is_zero(named[other]):
            planned.update(outcome=SKIPPED, reason=f"gpuhost_values sets {other}, and the two exclude each other")


def _shape(pairs: Iterable[tuple[str, Any]]) -> dict[str, dict[str, Any]]:
    values: dict[str, dict[str, Any]] = {}
    for address, value in pairs:
        kind, _colon, name = address.partition(":")
        values.setdefault(kind, {})[name] = value
    return values
