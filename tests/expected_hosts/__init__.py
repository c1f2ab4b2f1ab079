# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must be said of realistic hosts: one file a host, written by hand from what that host is.

    HOSTS = (Expected(plant, fails={check: line}, first=(check, ...), sources={check: who says so},
                      not_applicable={check: reason}),)

`fails` has every finding that fails or is unknown, as a line of verdicts.py, or lines by subjects; whatever is not in
it must neither fail nor be unknown. `first` are the first three things to do above `info`, in the order of the
reports. Whatever fails above `info` has a source here: on a host that is sound it must be more than an opinion.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from hosts.tree import Tree


class Expected(NamedTuple):
    """A host and what must be said of it; see above."""

    plant: Callable[[Tree], Tree]
    fails: Mapping[str, str | Mapping[tuple[str, ...], str]]
    first: tuple[str, ...]
    sources: Mapping[str, str] = {}
    not_applicable: Mapping[str, str] = {}
