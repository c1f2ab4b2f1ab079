# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""How a program is started in a container of the host, as an argument list."""
from __future__ import annotations

import re
import shutil

from .._host.host import Host
from .._host.program import PATH
from .guest_state import read_running_containers

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


def container_prefix(host: Host, container: str, *, keep: bool = False) -> list[str]:
    """What leads into a running container: pct on Proxmox VE, lxc-attach elsewhere. ValueError where nothing does.

    `keep`: the program has to get our environment, which pct keeps or not by its version.
    """
    if not _NAME.fullmatch(container):
        raise ValueError(f"container {container!r} is no id or name of a container, such as 101")
    running = read_running_containers(host)
    # Only the containers of Proxmox VE can be told to run; they have numbers.
    if container.isdecimal() and running.ok and container not in running.value:
        raise ValueError(f"container {container} is not running: start it, or name another one (running: "
                         f"{', '.join(sorted(running.value, key=int)) or 'none'})")
    # By their paths: the environment may hold a PATH that is the container's.
    pct, attach = (shutil.which(name, path=PATH) for name in ("pct", "lxc-attach"))
    if pct and container.isdecimal() and not keep:
        return [pct, "exec", container, "--"]
    if attach:
        return [attach, "-n", container, *(["--keep-env"] if keep else []), "--"]
    raise ValueError(f"container {container} cannot be entered: neither pct nor lxc-attach is installed on this host")
