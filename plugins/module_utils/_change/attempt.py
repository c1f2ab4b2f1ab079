# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""One change of a group of tunables: read, record, write once, read back, record, and roll back if needed."""
from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from .._host.reading import ABSENT, GONE, Reading, error_text
from .journal import Journal, JournalError
from .preflight import describe_unreadable, preflight, satisfied
from .tunable import (
    CHANGED,
    KERNEL_DECIDES,
    REFUSED,
    REVERTED,
    SKIPPED,
    UNCHANGED,
    WOULD_CHANGE,
    Change,
    Group,
    Refused,
    Tunable,
)


class Attempt:
    """The state of one group's change. The only code that calls Tunable.write()."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.readings: dict[Tunable, Reading] = {}
        self.now: dict[Tunable, Any] = {}           # values before the write
        self.target: dict[Tunable, Any] = {}        # target values of all members, including those already right
        self.changes: dict[Tunable, Change] = {}
        self.side_effects: dict[Tunable, Change] = {}      # of companions

    @property
    def all_changes(self) -> dict[Tunable, Change]:
        return {**self.changes, **self.side_effects}

    @property
    def pending(self) -> bool:
        """Whether there is something to write and no known reason against it."""
        return any(change.outcome == WOULD_CHANGE for change in self.changes.values())

    @property
    def refused(self) -> Change | None:
        return next((change for change in self.changes.values() if change.outcome == REFUSED), None)

    @property
    def lost(self) -> Change | None:
        """The change of a device that responded before the write and reads all ones after it."""
        return next((self.changes[tunable] for tunable in self.target if self.readings[tunable].status == GONE), None)

    # -- before the write ---------------------------------------------------------------------------------------

    def preflight(self) -> None:
        """Read everything, compare, and predict the outcomes without writing."""
        self._read(self.group.tunables)
        self.now = self._values()
        self.target, self.changes, self.side_effects = {}, {}, {}
        peers = {tunable.address: value for tunable, value in self.now.items()}
        peers.update((tunable.address, wanted.value) for tunable, wanted in self.group.wanted.items())
        for tunable, wanted in self.group.wanted.items():
            change = self.changes[tunable] = preflight(tunable, wanted, self.readings[tunable], peers)
            if change.outcome in (UNCHANGED, WOULD_CHANGE):
                self.target[tunable] = change.after
        self._all_or_nothing()
        if self.pending:
            foreseen = self.group.foresee_side_effects(self.now, self.target)
            self.side_effects = {tunable: self._side_effect(tunable, WOULD_CHANGE, value, self.group.side_effects_known)
                                 for tunable, value in foreseen.items()}

    def _all_or_nothing(self) -> None:
        # A tunable absent on this kernel is coupled with nothing, so it does not block the others.
        culprit = next((change for tunable, change in self.changes.items()
                        if change.outcome == REFUSED and self.readings[tunable].status != ABSENT), None)
        if culprit is not None:
            self.give_up(Refused(f"can only be changed together with {culprit.address}, which is refused",
                                 outcome=SKIPPED))

    def give_up(self, why: Refused) -> None:
        """Write nothing of this group; members that are already refused keep their own reason."""
        for change in self.changes.values():
            if change.outcome == WOULD_CHANGE:
                change.refuse(why)
                change.after = change.before
        self.target, self.side_effects = {}, {}

    # -- the write ----------------------------------------------------------------------------------------------

    def apply(self, journal: Journal) -> None:
        """Write what preflight() predicted, with a record before and after. Raises JournalError before a write."""
        # The journal's lock is held now: earlier readings may be stale, and restore needs this `before`.
        self.preflight()
        if not self.pending:
            return
        touched = [*self.target, *(companion for companion in self.group.companions if companion in self.now)]
        restores = any(self.group.wanted[tunable].restores for tunable in self.target)
        self._record_start({tunable: self.target.get(tunable) for tunable in touched}, restores, journal)
        self._settle(self._go(self.target, touched))
        self._go_back(touched)
        self.side_effects = {}
        for tunable in touched:
            found = self.readings[tunable]
            if tunable in self.changes:
                self.changes[tunable].after = found.value
            elif found.ok and not tunable.same(found.value, self.now[tunable]):
                self.side_effects[tunable] = self._side_effect(tunable, CHANGED, found.value)
        self._record_end(touched, journal)

    def undo(self, journal: Journal, reason: str) -> None:
        """Write back what apply() changed: the members and their side effects."""
        changes = {tunable: change for tunable, change in self.all_changes.items() if change.outcome == CHANGED}
        if not changes:
            return
        self._read(list(changes))
        try:
            self._record_start({tunable: self.now[tunable] for tunable in changes}, True, journal)
        except JournalError as why:
            for change in changes.values():
                change.add_reason(f"not undone: {why}")
            return
        for change in changes.values():
            change.settle(REVERTED, reason)
        left = self._bring_back(list(changes))
        for tunable, change in changes.items():
            change.after = self.readings[tunable].value
            if tunable in left:
                change.outcome = CHANGED
        self._record_end(list(changes), journal)

    def _go(self, target: dict[Tunable, Any], touched: Sequence[Tunable]) -> tuple[Tunable, Refused] | None:
        """Write from the current readings to `target`, then read back; return the refused write and why."""
        steps = self.group.steps(self._values(), target)
        failure = self._write(steps)
        self._read_back(touched, {} if failure else target)
        written = {tunable for tunable, _value in steps}
        more = [step for step in self.group.follow_up(self._values(), target) if step[0] not in written]
        if more and failure is None:
            failure = self._write(more)
            self._read_back(touched, {} if failure else target)
        return failure

    def _read_back(self, touched: Sequence[Tunable], target: dict[Tunable, Any]) -> None:
        """Read the values after a write; the kernel applies some only a moment later."""
        time.sleep(self.group.pause)
        self._read(touched)
        slow = [tunable for tunable in target if tunable.settles]
        end = time.monotonic() + max((tunable.settles for tunable in slow), default=0)
        while time.monotonic() < end and not all(
                tunable.same(self.readings[tunable].value, target[tunable]) for tunable in slow):
            time.sleep(0.05)
            self._read(touched)

    def _write(self, steps: list[tuple[Tunable, Any]]) -> tuple[Tunable, Refused] | None:
        for position, (tunable, value) in enumerate(steps):
            # An earlier write of the group may have changed this one already.
            if position and tunable.same(tunable.read().value, value):
                continue
            try:
                tunable.write(value)
            except Refused as why:
                return tunable, why
            except OSError as error:
                return tunable, Refused(error_text(error), error_text(error))
        return None

    def _settle(self, failure: tuple[Tunable, Refused] | None) -> None:
        """Set the outcome of every member from the values read back."""
        for tunable, value in self.target.items():
            change, found = self.changes[tunable], self.readings[tunable]
            reached = found.ok and satisfied(tunable, self.group.wanted[tunable], found.value)
            if failure is not None and failure[0] is tunable:
                change.refuse(failure[1])
            elif reached:
                change.settle(UNCHANGED if change.outcome == UNCHANGED else CHANGED, change.reason)
            elif failure is not None:
                change.settle(SKIPPED, f"can only be changed together with {failure[0].address}, which was refused")
            elif found.ok and tunable.same(found.value, self.now[tunable]):
                change.settle(REFUSED, f"the write of {value} was ignored")
            else:
                seen = found.value if found.ok else describe_unreadable(found)
                change.settle(REFUSED, f"the write of {value} did not stick: read back {seen}")

    def _go_back(self, touched: Sequence[Tunable]) -> None:
        """Roll back the group, all or nothing, if one member was refused."""
        culprit = next((self.changes[tunable] for tunable in self.target if self.changes[tunable].outcome == REFUSED),
                       None)
        if culprit is None:
            return
        for tunable in self.target:
            if self.changes[tunable].outcome == CHANGED:
                self.changes[tunable].settle(REVERTED,
                                             f"can only be changed together with {culprit.address}, which was refused")
        self._bring_back(touched)

    def _bring_back(self, touched: Sequence[Tunable]) -> list[Tunable]:
        """Write back the values from before the write; return what could not be restored, and note it in its change."""
        failure = self._go({tunable: self.now[tunable] for tunable in touched}, touched)
        left = [tunable for tunable in touched
                if not (self.readings[tunable].ok and tunable.same(self.readings[tunable].value, self.now[tunable]))]
        message = f" ({failure[1].reason})" if failure is not None else ""
        for tunable in left:
            change = self.all_changes.get(tunable)
            if change is not None:
                change.add_reason(f"{self.now[tunable]} could not be restored{message}")
        return left

    def _record_start(self, wanted: dict[Tunable, Any], restores: bool, journal: Journal) -> None:
        addresses = [tunable.address for tunable in wanted]
        journal.start([{"address": tunable.address, "before": self.readings[tunable].value, "wanted": value,
                        "identity": tunable.identity(), "restores": restores,
                        "together": [one for one in addresses if one != tunable.address]}
                       for tunable, value in wanted.items()])

    def _record_end(self, touched: Sequence[Tunable], journal: Journal) -> None:
        changes = self.all_changes
        try:
            journal.end([{"address": tunable.address, "after": self.readings[tunable].value,
                          "outcome": changes[tunable].outcome if tunable in changes else "followed"}
                         for tunable in touched])
        except JournalError as why:
            for change in self.changes.values():
                change.add_reason(f"the end of the write could not be recorded in the journal: {why}")

    # -- helpers --------------------------------------------------------------------------------------------------

    def _read(self, tunables: Sequence[Tunable]) -> None:
        for tunable in tunables:
            self.readings[tunable] = tunable.read()

    def _values(self) -> dict[Tunable, Any]:
        return {tunable: reading.value for tunable, reading in self.readings.items() if reading.ok}

    def _side_effect(self, tunable: Tunable, outcome: str, value: Any, certainty: str | None = None) -> Change:
        members = ", ".join(change.address for change in self.changes.values() if change.outcome != UNCHANGED)
        verb = "may change" if certainty == KERNEL_DECIDES else "changes"
        return Change(tunable.address, self.now[tunable], None, value, outcome, f"the kernel {verb} it with {members}",
                      certainty=certainty)
