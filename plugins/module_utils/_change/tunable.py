# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Tunables (addressable settings of a host), groups that change together, and outcomes of changes."""
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
    """A change that is not made: `reason` as text, `error` as errno text if a system call failed.

    `outcome` is SKIPPED if the request is valid but does not apply to this host. `but_back`: what we changed may still
    be restored.
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
    """Make the refusal that a system call failing with `number` would cause, without making the call."""
    text = error_text(OSError(number, os.strerror(number)))
    return Refused(f"{text}: {why}", error=text, number=number)


@dataclass
class Change:
    """The outcome of one wanted value."""

    address: str
    before: Any = None
    wanted: Any = None                  # as requested: a value or {at_least: NUMBER}
    after: Any = None                   # what was read back; for would_change what is expected
    outcome: str = UNCHANGED
    reason: str | None = None
    error: str | None = None            # errno text
    certainty: str | None = None        # for would_change
    inexact: list[str] = field(default_factory=list)    # side effects that cannot be restored exactly

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
        """Return `sysctl:vm.swappiness: refused: wanted 10, found 60: EACCES (Permission denied)`."""
        parts = [f"{self.address}: {self.outcome}"]
        if self.outcome in (CHANGED, WOULD_CHANGE, REVERTED):
            parts.append(f"{self.before} -> {self.after}")
        else:
            least = self.wanted.get("at_least") if isinstance(self.wanted, dict) else None
            wanted = self.wanted if least is None else f"at least {least}"
            parts.append(f"wanted {wanted}, found {'nothing' if self.after is None else self.after}")
        return ": ".join([*parts, *(text for text in (self.reason,) if text)])


class Tunable:
    """One setting. Each kind subclasses it with its reader, comparison, prediction and single write."""

    address = ""                        # sysctl:vm.swappiness
    inexact: Sequence[str] = ()
    note: str | None = None             # a note about a change that is made
    bearer = "device"                   # what has the identity
    settles: float = 0                  # seconds until a write can be read back from the kernel

    def read(self) -> Reading:
        """Read the current value in the form that write() accepts."""
        raise NotImplementedError

    def identity(self) -> str | None:
        """Return what distinguishes this device from another that may get the same address."""
        return None

    def same(self, one: Any, other: Any) -> bool:
        """Whether two values are equivalent to the kernel."""
        return one == other

    def made_of(self, written: Any, found: Any) -> bool:
        """Whether the kernel may have turned `written` into `found`."""
        return self.same(found, written)

    def half_written(self, before: Any, wanted: Any, found: Any) -> bool:
        """Whether a run that was killed while it wrote `wanted` over `before` may have left `found`."""
        return self.made_of(wanted, found)

    def number(self, value: Any) -> int:
        """Return the value as the number that `at_least` compares. Raises ValueError."""
        raise ValueError(f"{value!r} is not one number")

    def predict(self, now: Any, target: Any, peers: dict[str, Any]) -> str:
        """Return CERTAIN or KERNEL_DECIDES for a write of `target` over `now`; raises Refused if it is known to fail.

        Nothing is written to find out. `peers` are the target values of the group's tunables, by address.
        """
        return KERNEL_DECIDES

    def write(self, value: Any) -> None:
        """Write once. Raises OSError, or Refused for a rule that is checked just before the write."""
        raise NotImplementedError


class Group:
    """Tunables that change together or not at all; usually only one.

    `wanted` has the members in the order in which they are written. `companions` are not wanted, but the kernel may
    change them as a side effect: they are read, journalled and restored with the members.
    """

    side_effects_known: str | None = None        # the certainty of foresee_side_effects(), if not the default
    pause: float = 0                    # seconds after a write in which side effects may still appear

    def __init__(self, wanted: dict[Tunable, Wanted], companions: Sequence[Tunable] = ()) -> None:
        self.wanted = wanted
        self.companions = list(companions)

    @property
    def tunables(self) -> list[Tunable]:
        return [*self.wanted, *self.companions]

    def steps(self, now: dict[Tunable, Any], target: dict[Tunable, Any]) -> list[tuple[Tunable, Any]]:
        """Return the writes from `now` to `target`, in order; none for values that are already equal."""
        return [(tunable, target[tunable]) for tunable in self.tunables
                if tunable in target and not tunable.same(now.get(tunable), target[tunable])]

    def follow_up(self, now: dict[Tunable, Any], target: dict[Tunable, Any]) -> list[tuple[Tunable, Any]]:
        """Return what is still, or only now, not at its target; members that no step wrote are written then."""
        return Group.steps(self, now, target)

    def foresee_side_effects(self, now: dict[Tunable, Any], target: dict[Tunable, Any]) -> dict[Tunable, Any]:
        """Return the companions that the kernel will change as side effects, with their expected values."""
        return {}


class Kind:
    """A kind of tunables with a common prefix, which is also its key in `values`."""

    name = ""

    def parse(self, name: str, spec: Any) -> Wanted:
        """Parse one entry of `values` without access to the host. Raises ValueError."""
        raise NotImplementedError

    def is_pattern(self, name: str) -> bool:
        """Whether a name is a pattern; exact names take precedence over patterns."""
        return False

    def find(self, name: str) -> list[Tunable]:
        """Find the tunables of a name, at least one: a missing one has the status absent. Raises ValueError."""
        raise NotImplementedError

    def peers(self, tunable: Tunable) -> list[Tunable]:
        """Return the tunables that a write may change as side effects, which a snapshot therefore includes."""
        return []

    def details(self, tunables: list[Tunable]) -> dict[str, Any]:
        """Return what the kind's module returns besides readings and changes."""
        return {}

    def group(self, wanted: dict[Tunable, Wanted]) -> list[Group]:
        """Group these tunables, in the order in which they are written."""
        return [Group({tunable: value}) for tunable, value in wanted.items()]
