# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""One group of tunables on its way to what is wanted: look, record, write once, read back, record, and back again."""
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
    """What is known about one group. The only code that calls Tunable.write()."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.readings: dict[Tunable, Reading] = {}
        self.now: dict[Tunable, Any] = {}           # values before the write
        self.target: dict[Tunable, Any] = {}        # what the members are to be, those that are right already too
        self.changes: dict[Tunable, Change] = {}
        self.side_effects: dict[Tunable, Change] = {}      # of companions

    @property
    def all_changes(self) -> dict[Tunable, Change]:
        return {**self.changes, **self.side_effects}

    @property
    def pending(self) -> bool:
        """Whether there is something to write, and nothing known against it."""
        return any(change.outcome == WOULD_CHANGE for change in self.changes.values())

    @property
    def refused(self) -> Change | None:
        return next((change for change in self.changes.values() if change.outcome == REFUSED), None)

    @property
    def lost(self) -> Change | None:
        """A device that answered before the write and reads all ones after it."""
        return next((self.changes[tunable] for tunable in self.target if self.readings[tunable].status == GONE), None)

    # -- before the write ---------------------------------------------------------------------------------------

    def preflight(self) -> None:
        """Read everything, compare, and predict what can be known without a write."""
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
        # What is absent on this kernel is not coupled with anything, so it does not hold back the others.
        culprit = next((change for tunable, change in self.changes.items()
                        if change.outcome == REFUSED and self.readings[tunable].status != ABSENT), None)
        if culprit is not None:
            self.give_up(Refused(f"can only be changed together with {culprit.address}, which is refused",
                                 outcome=SKIPPED))

    def give_up(self, why: Refused) -> None:
        """Nothing of this group is written; what was refused already keeps its own reason."""
        for change in self.changes.values():
            if change.outcome == WOULD_CHANGE:
                change.refuse(why)
                change.after = change.before
        self.target, self.side_effects = {}, {}

    # -- the write ----------------------------------------------------------------------------------------------

    def apply(self, journal: Journal) -> None:
        """Write what preflight() foresaw, with a record before and after. Raises JournalError before a write."""
        # The journal's lock is ours by now: what was read before may be old, and this `before` is what restore needs.
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
        """Write back what apply() changed: the members, and what the kernel changed with them."""
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
        """From what the readings say to `target`, then read back; the write that was refused, and why."""
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
        """What is there after a write; some values the kernel makes its own only a moment later."""
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
            # An earlier write of the group may have brought this one along already.
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
        """The outcome of every member, from what was read back."""
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
        """All or nothing: where one member was refused, the others do not stay changed either."""
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
        """Write the befores; what could not be restored is answered, and said in its change."""
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
