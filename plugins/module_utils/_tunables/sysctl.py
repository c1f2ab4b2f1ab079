# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Sysctls by key: valid keys, and the only reader of the file below /proc/sys."""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import ABSENT, DENIED, Reading
from .._kernel.sysctl import key_to_path, path_to_key, read_sysctl
from .sysctl_rules import MOVED, never_read


def check_key(key: str) -> None:
    """Raise ValueError for what is not a sysctl key."""
    key_to_path(key)


def read(host: Host, key: str) -> Reading:
    """Read a sysctl as the kernel prints it; `denied` for one that is never read."""
    key = path_to_key(key_to_path(key))     # accepts either separator
    why = never_read(key)
    if why is not None:
        return Reading(DENIED, None, f"never read: {why}")
    reading = read_sysctl(host, key)
    if reading.status == ABSENT and key in MOVED:
        return reading._replace(detail=f"{reading.detail}; {MOVED[key]}")
    return reading
