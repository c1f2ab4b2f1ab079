# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The three findings at the top of a report: what, why, how, and at which risk."""
from __future__ import annotations

from collections.abc import Iterable

from .._checks.findings import PRIORITIES
from .groups import Group

NOTHING = "Nothing above info: the items are cosmetic or informational."


def by_priority(groups: Iterable[Group]) -> list[Group]:
    """Urgent findings first; otherwise the order is kept, as findings are already sorted by importance."""
    return sorted(groups, key=lambda one: PRIORITIES.index(one.first["priority"]))


def first_three(groups: Iterable[Group]) -> list[Group]:
    """The first three failed findings; `info` findings are left out."""
    return [one for one in by_priority(groups) if one.first["priority"] != "info"][:3]
