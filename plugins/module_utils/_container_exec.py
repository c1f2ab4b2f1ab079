# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""How to run a command inside a container of the host, as an argument list."""
from __future__ import annotations

import re
import shutil

from ._guest_state import read_running_containers
from ._host import Host
from ._program import PATH

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


class NoWayIn(Exception):
    """The container is named wrongly, does not run, or the host has no program that leads into it."""


def way_in(host: Host, container: str) -> list[str]:
    """`["pct", "exec", "101", "--"]` on Proxmox VE, `["lxc-attach", "-n", "101", "--"]` elsewhere. Raises NoWayIn."""
    if not _NAME.fullmatch(container):
        raise NoWayIn(f"container {container!r} is no id or name of a container, such as 101")
    running = read_running_containers(host)
    if container.isdecimal() and running.ok and container not in running.value:
        raise NoWayIn(f"container {container} is not running: start it, or measure on the host")
    if container.isdecimal() and shutil.which("pct", path=PATH):
        return ["pct", "exec", container, "--"]
    if shutil.which("lxc-attach", path=PATH):
        return ["lxc-attach", "-n", container, "--"]
    raise NoWayIn(f"neither pct nor lxc-attach is installed here, so there is no way into container {container}")
