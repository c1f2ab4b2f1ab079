# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The settings of an experiment: their values without and with a toggle, the value last seen, and the values to write
for a change of state.

Every value passed to a setter is guarded by the value seen last. One call of a setter therefore does three things: it
reports whether something else changed a value since the last call, applies the state, and reads it back.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils._change.tunable import CHANGED, REFUSED, REVERTED, SKIPPED, UNCHANGED, WOULD_CHANGE
from .._render.changes import change_lines
from .toggles import Toggle


class ExperimentError(Exception):
    """The experiment cannot continue; what it set is restored."""


class ConcurrentChange(ExperimentError):
    """A setting has neither of the experiment's two values."""


class Setting:
    """One tunable. A companion is one that the kernel changes as a side effect: it is restored but never set."""

    def __init__(self, toggle: str, before: Any, after: Any, companion: bool) -> None:
        self.toggle = toggle
        self.before = before
        self.after = after
        self.companion = companion
        self.seen = before


class Settings:
    """All tunables of the toggles by address."""

    def __init__(self) -> None:
        self.all: dict[str, Setting] = {}
        self.inexact: list[str] = []        # addresses that the kernel recalculates too and that are not restored

    def learn(self, toggle: Toggle, kind: str, answer: Mapping[str, Any]) -> None:
        """Add the tunables of a toggle with their current and future values, as a setter in check mode reports them.

        ExperimentError: one of them would not be set.
        """
        refused = [change for change in answer["changes"] if change["outcome"] not in (UNCHANGED, WOULD_CHANGE)]
        if refused:
            raise ExperimentError("\n".join(change_lines(refused)) + "\nLeave it out with gpuhost_skip, or name the "
                                  "others in gpuhost_experiment_changes")
        wanted = {change["address"]: change for change in answer["changes"] if change["wanted"] is not None}
        for name, before in answer["snapshot"].items():
            address = f"{kind}:{name}"
            change = wanted.get(address)
            self.all[address] = Setting(toggle.name, before, change["after"] if change else before, change is None)
        self.inexact += [address for change in wanted.values() for address in change["inexact"]
                         if address not in self.inexact]

    def differ(self, toggle: Toggle) -> bool:
        """Whether the toggle changes anything."""
        return any(setting.before != setting.after for setting in self.all.values() if setting.toggle == toggle.name)

    def values(self, on: frozenset[str]) -> dict[str, dict[str, Any]]:
        """The arguments of setters for the state in which these toggles are on, by kind: one call each."""
        shape: dict[str, dict[str, Any]] = {}
        for address, setting in self.all.items():
            if setting.toggle in on and setting.companion:
                continue        # it follows another setting
            target = setting.after if setting.toggle in on else setting.before
            back = {"restores": True} if target == setting.before else {}
            kind, _colon, name = address.partition(":")
            shape.setdefault(kind, {})[name] = {"set": target, "only_from": setting.seen, **back}
        return shape

    def take(self, changes: Iterable[Mapping[str, Any]]) -> tuple[list[str], bool]:
        """Process a setter's result: return the addresses that had changed since our last write, and whether to retry.

        Retry if something else set one of our own two values and a guard refused to overwrite it. ConcurrentChange: a
        third value, which is left in place. ExperimentError: a refusal.
        """
        foreign, refused, third, again = [], [], [], False
        for change in changes:
            setting = self.all.get(change["address"])
            if setting is None:
                continue
            found, expected, setting.seen = change["before"], setting.seen, change["after"]
            if change["wanted"] is None:
                continue
            if found != expected:
                foreign.append(change["address"])
            if change["outcome"] not in (REFUSED, REVERTED, SKIPPED):
                continue
            if found == expected:
                refused.append(dict(change))
            elif found in (setting.before, setting.after):
                again = True
            else:
                third.append(f"{change['address']}: set to {expected}, found {found}")
        if third:
            raise ConcurrentChange("a setting of the experiment was changed by something else and is left alone: "
                                   + "; ".join(third))
        # A refusal in a group that is set together holds back the others.
        if refused and not again:
            raise ExperimentError("\n".join(change_lines(refused)))
        return foreign, again

    def seen(self, changes: Iterable[Mapping[str, Any]]) -> None:
        """Note what the restore read back."""
        for change in changes:
            if change["address"] in self.all and change["after"] is not None:
                self.all[change["address"]].seen = change["after"]

    def note_values(self, values: Mapping[str, Any]) -> None:
        """Note the values that were read at the end, by address."""
        for address, value in values.items():
            if address in self.all:
                self.all[address].seen = value

    def outcomes(self) -> list[dict[str, Any]]:
        """The outcome of each setting in the form of setters: changed if it is left with its toggle on."""
        return [{"address": address, "before": one.before, "wanted": one.after, "after": one.seen, **_became(one),
                 "error": None, "certainty": None, "inexact": []}
                for address, one in self.all.items() if not one.companion]


def _became(setting: Setting) -> dict[str, str]:
    if setting.seen == setting.before:
        return {"outcome": REVERTED, "reason": "tried in an experiment"}
    if setting.seen == setting.after:
        return {"outcome": CHANGED, "reason": "kept after an experiment"}
    return {"outcome": REFUSED, "reason": "changed by something else during an experiment, and left alone"}
