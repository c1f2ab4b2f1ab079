# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Change many groups of tunables in one call, and handle refusals between them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._host.reading import Reading
from .attempt import Attempt
from .journal import Journal, JournalError
from .tunable import SKIPPED, Change, Group, Refused, Tunable

KEEP = "keep"       # every group is independent
UNDO = "undo"       # a refusal rolls back what this call changed
REPORT = "report"   # as keep; the caller does not fail
ON_REFUSAL = (KEEP, UNDO, REPORT)


class Converged(NamedTuple):
    changes: list[Change]
    readings: dict[Tunable, Reading]        # final readings of members and companions
    baseline: dict[Tunable, Any]             # of members and companions, if readable


def converge(groups: Sequence[Group], journal: Journal, *, check_mode: bool = False,
             on_refusal: str = KEEP) -> Converged:
    """Bring the groups to their wanted values. Never raises because of a host's answers.

    If there is nothing to write, neither the journal nor its lock is opened.
    """
    attempts = [Attempt(group) for group in groups]
    for attempt in attempts:
        attempt.preflight()
    pending = [attempt for attempt in attempts if attempt.pending]
    refused = _first_refused(attempts)
    obstacle = journal.obstacle() if pending else None
    if obstacle:
        _give_up(pending, Refused(obstacle))
    elif on_refusal == UNDO and refused is not None:
        _give_up(pending, Refused(f"not written: {refused.address} is refused", outcome=SKIPPED))
    elif pending and not check_mode:
        _write(pending, journal, on_refusal)
    return Converged(
        [change for attempt in attempts for change in attempt.all_changes.values()],
        {tunable: reading for attempt in attempts for tunable, reading in attempt.readings.items()},
        {tunable: value for attempt in attempts for tunable, value in attempt.now.items()})


def _write(pending: list[Attempt], journal: Journal, on_refusal: str) -> None:
    try:
        with journal:
            for position, attempt in enumerate(pending):
                attempt.apply(journal)
                if on_refusal == UNDO and attempt.refused is not None:
                    address = attempt.refused.address
                    _give_up(pending[position + 1:], Refused(f"not attempted: {address} was refused", outcome=SKIPPED))
                    for done in reversed(pending[:position]):
                        done.undo(journal, f"rolled back: {address} was refused")
                    return
                if attempt.lost is not None:
                    why = f"not attempted: {attempt.lost.address} does not respond since its write"
                    _give_up(pending[position + 1:], Refused(why, outcome=SKIPPED))
                    return
    except JournalError as why:
        _give_up(pending, Refused(str(why)))


def _give_up(attempts: Sequence[Attempt], why: Refused) -> None:
    for attempt in attempts:
        attempt.give_up(why)


def _first_refused(attempts: Sequence[Attempt]) -> Change | None:
    return next((attempt.refused for attempt in attempts if attempt.refused is not None), None)
