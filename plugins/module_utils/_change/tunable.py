# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""One addressable setting of a host, those that change together, and the outcome of a wanted change."""
from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .._host.reading import Reading, error_text
from .._tunables.wanted import Wanted

UNCHANGED = "unchanged"
WOULD_CHANGE = "would_change"
CHANGED = "changed"
REFUSED = "refused"
REVERTED = "reverted"
SKIPPED = "skipped"
OUTCOMES = (UNCHANGED, WOULD_CHANGE, CHANGED, REFUSED, REVERTED, SKIPPED)

CERTAIN = "certain"
KERNEL_DECIDES = "kernel_decides"


class Refused(Exception):
    """A change that is not made: `reason` in words, `error` as errno text where a system call said no.

    `outcome` is SKIPPED where nothing is wrong with what was asked, it only has no place on this host. `but_back`: what
    we changed may be restored all the same.
    """

    def __init__(self, reason: str, error: str | None = None, outcome: str = REFUSED,
                 number: int | None = None, but_back: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.error = error
        self.outcome = outcome
        self.number = number        # errno
        self.but_back = but_back


def expected_error(number: int, why: str) -> Refused:
    """The refusal that the system call would answer with `number`, said without making the call."""
    text = error_text(OSError(number, os.strerror(number)))
    return Refused(f"{text}: {why}", error=text, number=number)


@dataclass
class Change:
    """The outcome of one wanted value."""

    address: str
    before: Any = None
    wanted: Any = None                  # as it was asked for: a value or {at_least: NUMBER}
    after: Any = None                   # what was read back; of would_change what is expected
    outcome: str = UNCHANGED
    reason: str | None = None
    error: str | None = None            # errno text
    certainty: str | None = None        # of would_change
    inexact: list[str] = field(default_factory=list)    # what the kernel changes along and nobody can put back exactly

    def settle(self, outcome: str, reason: str | None = None, error: str | None = None) -> None:
        self.outcome, self.reason, self.error = outcome, reason, error
        self.certainty = self.certainty if outcome == WOULD_CHANGE else None

    def refuse(self, why: Refused) -> None:
        self.settle(why.outcome, why.reason, why.error)

    def add_reason(self, text: str) -> None:
        self.reason = f"{self.reason}; {text}" if self.reason else text

    def as_result(self) -> dict:
        return dict(vars(self))

    def line(self) -> str:
        """`sysctl:vm.swappiness: refused: wanted 10, found 60: EACCES (Permission denied)`."""
        parts = [f"{self.address}: {self.outcome}"]
        if self.outcome in (CHANGED, WOULD_CHANGE, REVERTED):
            parts.append(f"{self.before} -> {self.after}")
        else:
            least = self.wanted.get("at_least") if isinstance(self.wanted, dict) else None
            wanted = self.wanted if least is None else f"at least {least}"
            parts.append(f"wanted {wanted}, found {'nothing' if self.after is None else self.after}")
        return ": ".join([*parts, *(text for text in (self.reason,) if text)])


class Tunable:
    """One setting. A kind subclasses it with its reader, its comparison, its predictions and its one write."""

    address = ""                        # sysctl:vm.swappiness
    inexact: Sequence[str] = ()
    note: str | None = None             # what to know about a change that is made
    settles: float = 0                  # seconds that the kernel may take until a write can be read back

    def read(self) -> Reading:
        """The current value in the form that write() takes."""
        raise NotImplementedError

    def identity(self) -> str | None:
        """What tells this device from another that may come to the same address."""
        return None

    def same(self, one: Any, other: Any) -> bool:
        """Whether two values mean the same to the kernel."""
        return one == other

    def made_of(self, written: Any, found: Any) -> bool:
        """Whether the kernel, given `written`, may have made `found` of it."""
        return self.same(found, written)

    def number(self, value: Any) -> int:
        """The value as the number that `at_least` compares. Raises ValueError."""
        raise ValueError(f"{value!r} is not one number")

    def predict(self, now: Any, target: Any, peers: dict[str, Any]) -> str:
        """CERTAIN or KERNEL_DECIDES for a write of `target` over `now`; raises Refused for what is known to fail.

        Nothing is written to find out. `beside` is what the group's tunables will be, by address.
        """
        return KERNEL_DECIDES

    def write(self, value: Any) -> None:
        """One write. Raises OSError, or Refused for a rule that is checked at the last moment."""
        raise NotImplementedError


class Group:
    """Tunables that change together or not at all; mostly there is one.

    `wanted` names the members in the order in which they are written. `companions` are not wanted, but the kernel may
    change them along: they are read, journalled and put back with the members.
    """

    side_effects_known: str | None = None        # the certainty of what foresee() answers, where it is not plain
    pause: float = 0                    # seconds after a write in which the kernel may still change something along

    def __init__(self, wanted: dict[Tunable, Wanted], companions: Sequence[Tunable] = ()) -> None:
        self.wanted = wanted
        self.companions = list(companions)

    @property
    def tunables(self) -> list[Tunable]:
        return [*self.wanted, *self.companions]

    def steps(self, now: dict[Tunable, Any], target: dict[Tunable, Any]) -> list[tuple[Tunable, Any]]:
        """The writes that lead from `now` to `target`, in order; none for what is equal already."""
        return [(tunable, target[tunable]) for tunable in self.tunables
                if tunable in target and not tunable.same(now.get(tunable), target[tunable])]

    def follow_up(self, now: dict[Tunable, Any], target: dict[Tunable, Any]) -> list[tuple[Tunable, Any]]:
        """What is still, or only now, not at its target; those of it that no step wrote are written then."""
        return Group.steps(self, now, target)

    def foresee_side_effects(self, now: dict[Tunable, Any], target: dict[Tunable, Any]) -> dict[Tunable, Any]:
        """The companions that the kernel will change along, with their values to be."""
        return {}


class Kind:
    """A family of tunables with one prefix, which is also its key in the shape of values."""

    name = ""

    def parse(self, name: str, spec: Any) -> Wanted:
        """One entry of `values` without a look at the machine. Raises ValueError."""
        raise NotImplementedError

    def is_pattern(self, name: str) -> bool:
        """Whether a name stands for whatever it fits; then one that names a tunable itself comes before it."""
        return False

    def find(self, name: str) -> list[Tunable]:
        """The tunables that a name means, one at least: what is not there has the status absent. Raises ValueError."""
        raise NotImplementedError

    def peers(self, tunable: Tunable) -> list[Tunable]:
        """What a write of a tunable may change along, and a snapshot of it therefore holds too."""
        return []

    def details(self, tunables: list[Tunable]) -> dict[str, Any]:
        """What the kind's module answers beside readings and changes."""
        return {}

    def group(self, wanted: dict[Tunable, Wanted]) -> list[Group]:
        """The groups of these tunables, in the order in which they are written."""
        return [Group({tunable: value}) for tunable, value in wanted.items()]
