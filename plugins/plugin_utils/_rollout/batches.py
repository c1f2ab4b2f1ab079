# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The batches of a rollout, and the hosts to recheck between them."""
from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

MOST = 25               # hosts in a batch, whatever was requested
_SIZE = re.compile(r"\d+%?")


def sizes(asked: Any, hosts: int) -> list[int]:
    """Batch sizes for Ansible's `serial`, from the values it accepts: a number, a percentage, or a list of them.

    The last one repeats. A percentage is of all hosts. ValueError for anything else: Ansible would treat an invalid
    value, or zero, as all hosts at once.
    """
    parts = _parts(asked)
    found = []
    for part in parts:
        text = str(part).strip()
        if isinstance(part, bool) or not _SIZE.fullmatch(text) or int(text.rstrip("%")) < 1:
            raise ValueError(f"gpuhost_serial: {text!r} is neither a number of hosts nor a percentage such as 5%")
        size = hosts * int(text[:-1]) // 100 if text.endswith("%") else int(text)
        found.append(max(1, min(size, MOST)))
    return found


def _parts(asked: Any) -> Sequence[Any]:
    # -e gpuhost_serial='[1, 2, "5%"]' and -e gpuhost_serial=1,2,5% arrive as strings.
    if isinstance(asked, str) and asked.strip().startswith("["):
        try:
            asked = json.loads(asked)
        except ValueError as error:
            raise ValueError(f"gpuhost_serial: {asked!r} is not a list: {error}") from error
    elif isinstance(asked, str):
        asked = asked.split(",")
    parts = asked if isinstance(asked, (list, tuple)) else [asked]
    if not parts:
        raise ValueError("gpuhost_serial is an empty list")
    return parts


def look_again(batches: Sequence[Sequence[str]], fine: set[str], most: int, looked: Mapping[str, int]) -> list[str]:
    """The hosts to recheck after the last of `batches`: at most `most` of those that are `fine` so far.

    Hosts of the newest batch come first, then those that have run longest with the change, then the others by the
    batch after which they were last checked (`looked`). The cost of a rollout thus grows linearly with its hosts.
    """
    newest, *older = [[host for host in batch if host in fine] for batch in reversed(batches)]
    first = [host for batch in batches[:2] for host in batch if host in fine and host not in newest]
    rest = [host for batch in reversed(older) for host in batch if host not in first]
    return (newest + first + sorted(rest, key=lambda host: looked.get(host, 0)))[:most]
