# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Read the tunables requested by address, in the form that the setters use."""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import Reading
from .._tunables.kinds import KINDS

GLOB_SIGNS = "*?["


def read_named(host: Host, addresses: list[str]) -> dict[str, Reading]:
    """`{address: reading}`; a sysfs pattern stands for every matching file.

    Raises ValueError for an invalid address.
    """
    return {found: reading for address in addresses for found, reading in _read(host, address)}


def _read(host: Host, address: str) -> list[tuple[str, Reading]]:
    kind, _colon, name = address.partition(":")
    if kind not in KINDS or not name:
        raise ValueError(f"{address!r} is not the address of a tunable: wanted one of "
                         + ", ".join(f"{known}:..." for known in KINDS))
    names = host.glob(name) if kind == "sysfs" and any(sign in name for sign in GLOB_SIGNS) else [name]
    return [(f"{kind}:{one}", KINDS[kind].read(host, one)) for one in names]
