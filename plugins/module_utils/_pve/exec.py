# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Argument lists that start a program in a container of the host."""
from __future__ import annotations

import re
import shutil

from .._host.host import Host
from .._host.program import PATH, run_program
from .guest_state import read_running_containers

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
ENGINES = ("docker", "podman")
_ID = re.compile(r"[0-9a-f]{64}")
_TIME_LIMIT = 10        # seconds for an engine to print the id of a container


def container_prefix(host: Host, container: str, *, keep: bool = False) -> list[str]:
    """The command prefix that runs a program in a container: pct on Proxmox VE, lxc-attach elsewhere, and the engine
    itself for `docker:name` or `podman:name`. ValueError if there is none.

    `keep`: the program must get the current environment. Whether pct keeps it depends on its version; engines do not.
    """
    engine, colon, name = container.partition(":")
    if colon:
        return _engine_prefix(engine, name, keep)
    if not _NAME.fullmatch(container):
        raise ValueError(f"container {container!r} is not the id or name of a container, such as 101")
    running = read_running_containers(host)
    # Only containers of Proxmox VE, which have numbers, can be checked for running.
    if container.isdecimal() and running.ok and container not in running.value:
        raise ValueError(f"container {container} is not running: start it, or choose another one (running: "
                         f"{', '.join(sorted(running.value, key=int)) or 'none'})")
    # With full paths: PATH in the environment may be meant for the container.
    pct, attach = (shutil.which(name, path=PATH) for name in ("pct", "lxc-attach"))
    if pct and container.isdecimal() and not keep:
        return [pct, "exec", container, "--"]
    if attach:
        return [attach, "-n", container, *(["--keep-env"] if keep else []), "--"]
    raise ValueError(f"container {container} cannot be entered: neither pct nor lxc-attach is installed on this host")


def _engine_prefix(engine: str, name: str, keep: bool) -> list[str]:
    """The prefix for an engine: `-i` keeps standard input open; no terminal is allocated."""
    if engine not in ENGINES or not _NAME.fullmatch(name):
        raise ValueError(f"container {engine}:{name} is not valid: wanted the id of a container, or docker: or "
                         "podman: and a name or id")
    program = shutil.which(engine, path=PATH)
    if program is None:
        raise ValueError(f"container {engine}:{name} cannot be entered: {engine} is not installed on this host")
    if keep:
        raise ValueError(f"container {engine}:{name}: {engine} does not pass an environment: omit it")
    return [program, "exec", "-i", name]


def container_id(container: str) -> str:
    """The container's name in the cgroups of its processes: the number of an LXC container, else the first 12 digits
    of the id that its engine prints. ValueError if the engine prints none."""
    engine, colon, name = container.partition(":")
    if not colon:
        return container
    program = shutil.which(engine, path=PATH) or engine
    told = run_program([program, "inspect", "--format", "{{.Id}}", name], _TIME_LIMIT)
    if told is None:
        raise ValueError(f"container {container} cannot be entered: {engine} is not installed on this host")
    if told.problem or not _ID.fullmatch(told.stdout.strip()):
        raise ValueError(f"container {container} is not there: {told.problem or 'its engine tells no id'}")
    return told.stdout.strip()[:12]
