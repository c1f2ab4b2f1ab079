# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Mounts at and below /proc and /sys: which are read-only, as they often are in containers."""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import Reading

_ROOTS = ("/proc", "/sys")
_OCTAL = re.compile(r"\\([0-7]{3})")


def read(host: Host) -> Reading:
    """Read the fact `kernel.mounts`: `[{path, read_only}]`, sorted by path."""
    return host.read("/proc/mounts").map(parse_mounts)


def parse_mounts(text: str) -> list[dict]:
    """Parse the mounts at and below /proc and /sys in /proc/mounts (man 5 proc_pid_mounts).

    The option `ro` covers the mount and its file system (show_vfsmnt() in fs/proc_namespace.c). The last mount on a
    path hides earlier ones. Blanks in a path are printed as \\040.
    """
    found = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 4:
            continue
        path = _OCTAL.sub(lambda code: chr(int(code[1], 8)), fields[1])
        if path in _ROOTS or path.startswith(tuple(f"{root}/" for root in _ROOTS)):
            found[path] = "ro" in fields[3].split(",")
    return [{"path": path, "read_only": found[path]} for path in sorted(found)]
