# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Explain why a play has no hosts: the inventory is missing or empty, or nothing in it matches."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence


def problem(patterns: Sequence[str], limit: str | None, sources: Iterable[str], hosts: int,
            matching: Callable[[list[str]], list[str]]) -> str | None:
    """One sentence, None if a host matches.

    `sources` are the inventory sources given with -i, `hosts` is the number of hosts in them, `matching` returns the
    names that match patterns.
    """
    matched = matching(list(patterns))
    wanted = repr(",".join(map(str, patterns)))
    if not matched:
        missing = [source for source in sources if "," not in source and not os.path.exists(source)]
        if missing:
            return f"no hosts: the inventory {missing[0]} does not exist"
        if not hosts:
            return f"no hosts: the inventory {', '.join(sources) or '(none given)'} has none; give one with -i FILE"
        return f"no hosts: {wanted} matches none of the {hosts} of the inventory; see gpuhost_hosts and -i"
    # Ansible itself reads a limit from a file (@retry) and stops if none of its hosts is known.
    if limit and "@" not in limit and not set(matched) & set(matching([limit])):
        return f"no hosts: --limit {limit!r} leaves none of {wanted}; see gpuhost_hosts and -l"
    return None
