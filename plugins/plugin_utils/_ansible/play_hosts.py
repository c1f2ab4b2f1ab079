# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Why a play would have no hosts: the inventory is missing or empty, or nothing in it matches."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence


def problem(patterns: Sequence[str], limit: str | None, sources: Iterable[str], hosts: int,
            matching: Callable[[list[str]], list[str]]) -> str | None:
    """One sentence, None where some host is matched.

    `sources` are those of the inventory as given with -i, `hosts` how many it has, `matching` gives the names of those
    that match patterns.
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
    # A limit in a file (@retry) has been read by Ansible, which ends where nothing of it is known.
    if limit and "@" not in limit and not set(matched) & set(matching([limit])):
        return f"no hosts: --limit {limit!r} leaves none of {wanted}; see gpuhost_hosts and -l"
    return None
