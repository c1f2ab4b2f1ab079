# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Commands that apply and undo a proposed place, as lines to paste, and when they take effect."""
from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from ...module_utils._kernel.cpulist import format_cpulist
from . import qm
from .place import Guest, Place

NEXT_START = "at its next start"
_CONFIGURED = f"{NEXT_START}: its configuration says so already"
_AT_ONCE = "at once for its CPUs; memory that it has stays where it is until it is started anew"
_ENGINE_ID = re.compile(r"[0-9a-f]{12}")        # of Docker, Podman and similar engines
_ALL = '"$(cat /sys/devices/system/cpu/online)"'


class Commands(NamedTuple):
    """`commands` and `undo` are lines for a root shell, or lines of the file that `edit` names. `when` says when they
    take effect."""

    commands: list[str]
    undo: list[str]
    when: str
    edit: str | None = None


def commands(guest: Guest, place: Place, old_cgroups: bool = False) -> Commands:
    if guest.kind == "vm":
        return _vm(guest, place)
    return _container(guest, place, old_cgroups) if guest.kind == "lxc" else _process(guest, place)


def _vm(guest: Guest, place: Place) -> Commands:
    options = qm.options(guest, place)
    if not options.names:
        return Commands([], [], _CONFIGURED)
    back = shlex.join(qm.undo(guest, options).words(guest.id))
    # Options that a running VM cannot apply at once stay pending, and --revert drops them.
    revert = [shlex.join(["qm", "set", guest.id, "--revert", ",".join(options.names)]) + "    # before its next start",
              back + "    # after it"]
    return Commands([shlex.join(options.words(guest.id))], revert if guest.running else [back], NEXT_START)


def _container(guest: Guest, place: Place, old_cgroups: bool) -> Commands:
    prefix = "lxc.cgroup" if old_cgroups else "lxc.cgroup2"
    configured = guest.configured
    lines = [(f"{prefix}.cpuset.cpus", place.cpu_list, configured.cpus)]
    if configured.memory_nodes is not None and place.cpus is not None:
        lines.append((f"{prefix}.cpuset.mems", place.memory_list, configured.memory_nodes))
    changed = [(key, wanted, old) for key, wanted, old in lines if wanted != old]
    if not changed:
        return Commands([], [], _CONFIGURED)
    wanted = [f"{key}: {text}" if text else f"# no line {key}" for key, text, _old in changed]
    old = [f"{key}: {text}" if text else f"# no line {key}" for key, _wanted, text in changed]
    return Commands(wanted, old, NEXT_START, f"/etc/pve/lxc/{guest.id}.conf")


def _process(guest: Guest, place: Place) -> Commands:
    cpus, old = place.cpu_list or "", guest.configured.cpus
    name = shlex.quote(guest.id)
    if guest.container is not None and not _ENGINE_ID.fullmatch(guest.container):
        return Commands([], [], f"whatever starts the container {guest.container} has to give it the CPUs {cpus}")
    if guest.container is not None:
        return Commands([f"docker update --cpuset-cpus {cpus} {name}    # podman update, where it is Podman's"],
                        [f"docker update --cpuset-cpus {old or _ALL} {name}"], _AT_ONCE)
    if guest.id.endswith((".service", ".scope", ".slice")):
        # A scope ends with its processes, so systemd keeps nothing of it.
        words = "systemctl set-property" + (" --runtime" if guest.id.endswith(".scope") else "")
        return Commands([f"{words} {name} AllowedCPUs={cpus}"], [f"{words} {name} AllowedCPUs={old or ''}"], _AT_ONCE)
    return Commands([f"taskset --all-tasks --cpu-list --pid {cpus} {pid}" for pid in guest.pids],
                    [f"taskset --all-tasks --cpu-list --pid {old or _ALL} {pid}" for pid in guest.pids],
                    _AT_ONCE + "; a new process has to be started with taskset")


def memory_nodes(place: Place) -> str | None:
    """The nodes proposed for its memory, as a list; for memory that is not bound, the nodes of its CPUs."""
    return format_cpulist(part.node for part in place.parts) if place.parts else place.memory_list
