# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""GPU device nodes in the /dev of a running container; they are examined but never opened.

A container controls its own file system, which is treated as untrusted: links are resolved inside its root, the number
of names is bounded, and the caller does this in a child process that it abandons if it does not return.
"""
from __future__ import annotations

import os
import re

from .._host.host import Host
from .._host.reading import ABSENT, UNPARSABLE, Reading, from_error, ok
from .._host.sysroot import Sysroot

FOLDERS = ("/dev", "/dev/nvidia-caps")
NODE_LIMIT = 1024           # an NVSwitch host with all MIG capabilities has a few hundred

_NAME = re.compile(r"nvidia[\w.-]*|kfd|gdrdrv", re.ASCII)
_CAPABILITY = re.compile(r"nvidia-cap\d+", re.ASCII)


def read_nodes_inside(host: Host, root: Sysroot, path: str) -> Reading:
    """`[{path, type, major, minor}]` by path; `type` is c, b, or `file` (without numbers) for anything else.

    `root` is the container's root folder, `path` its path on the host (`/proc/<pid>/root`). Absent if the container
    has no readable /dev.
    """
    found: list[dict] = []
    seen = False
    for folder in FOLDERS:
        try:
            here = path + root.resolve(folder)
            names = _names(host, here)
            seen = seen or names is not None
            wanted = [name for name in names or () if (_NAME if folder == "/dev" else _CAPABILITY).fullmatch(name)]
            if len(wanted) > NODE_LIMIT:
                return Reading(UNPARSABLE, None, f"{folder} has more than {NODE_LIMIT} device nodes of GPU drivers")
            nodes = (_look(host, root, path, f"{folder}/{name}") for name in sorted(wanted))
            found += [node for node in nodes if node is not None]
        except OSError as error:
            return from_error(error)
    return ok(found) if seen else Reading(ABSENT, None, "its /dev is not visible")


def _names(host: Host, folder: str) -> set[str] | None:
    """Names in a folder of the container; None if it does not exist. A recorded host has its nodes recorded."""
    listed = host.read_list(folder)
    nodes = {} if host.live else host.device_nodes(folder).value or {}
    if not listed.ok and not nodes:
        if listed.status != ABSENT:
            raise PermissionError(f"{folder}: {listed.detail}")
        return None
    return {*(listed.value or []), *map(os.path.basename, nodes)}


def _look(host: Host, root: Sysroot, path: str, inside: str) -> dict | None:
    """The entry for one path; None for a folder and for a dangling link."""
    here = path + root.resolve(inside)
    node = host.device_node(here)
    if node is not None:
        return {"path": inside, **{key: node[key] for key in ("type", "major", "minor")}}
    if host.is_dir(here) or not host.exists(here):
        return None
    return {"path": inside, "type": "file", "major": None, "minor": None}
