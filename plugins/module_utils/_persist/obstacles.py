# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Hosts on which nothing can be persisted: containers, and systems with read-only or volatile files."""
from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from .._host.host import Host
from .._system.identity import read_container
from .folders import missing, real_path

MOUNTS = "/proc/self/mountinfo"
_IN_MEMORY = ("tmpfs", "ramfs")
_ESCAPED = re.compile(r"\\([0-7]{3})")
_RUNS = "/run/systemd/system"       # sd_booted(3)
# Paths that show systemd in a folder without the state of a running host.
_INSTALLED = ("/usr/lib/systemd/systemd", "/lib/systemd/systemd", "/etc/systemd/system")


class Obstacle(Exception):
    """Nothing was written; the message says why and what to do."""


class Mount(NamedTuple):
    """One line of mountinfo (man 5 proc)."""

    place: str
    kind: str
    options: str        # of the superblock


def refuse_container(host: Host) -> None:
    """Raise Obstacle in a container: its host owns the settings."""
    container = read_container(host)
    if container is not None:
        raise Obstacle(f"this is a container ({container[2]}): what is persisted belongs on its host")


def require_place(host: Host, folders: list[str]) -> None:
    """Raise Obstacle, InTheWay or OSError if files in `folders` cannot be written or would not last."""
    host.require_writable()
    refuse_read_only(host, folders)
    mounts = read_mounts(host)
    for folder in folders:
        volatile = why_volatile(_nearest(host, folder), mounts)
        if volatile:
            raise Obstacle(f"{folder} {volatile}: what is written there does not last; set it where the image of the "
                           "system is made")


def refuse_read_only(host: Host, folders: Iterable[str]) -> None:
    """Raise Obstacle or InTheWay if files in one of `folders` can be neither written nor removed."""
    for folder in folders:
        here = _nearest(host, folder)
        if os.statvfs(here if host.live else host.sysroot + here).f_flag & os.ST_RDONLY:
            raise Obstacle(f"{folder} is on a read-only file system: make it writable, or set this where the image of "
                           "the system is made")


def _nearest(host: Host, folder: str) -> str:
    """Return the real path of `folder`, or of the innermost of its parents that exists."""
    to_make = missing(host, folder)
    return real_path(host, os.path.dirname(to_make[0]) if to_make else folder)


def has_systemd(host: Host) -> bool:
    """Whether systemd runs; in a folder without the /run of a running host, whether it is installed."""
    if host.is_dir(_RUNS):
        return True
    running = host.live or bool(set(host.list("/run")) - {"gpuhost"})
    return not running and any(map(host.exists, _INSTALLED))


def read_mounts(host: Host) -> list[Mount]:
    """Read the mounts in mount order; none if they cannot be read."""
    return parse_mounts(host.read(MOUNTS).value or "")


def parse_mounts(text: str) -> list[Mount]:
    found = []
    for line in text.splitlines():
        fields, _dash, system = line.partition(" - ")
        left, right = fields.split(), system.split()
        if len(left) > 4 and len(right) > 2:
            found.append(Mount(_ESCAPED.sub(lambda sign: chr(int(sign[1], 8)), left[4]), right[0], right[2]))
    return found


def why_volatile(path: str, mounts: list[Mount]) -> str | None:
    """Return why a file at `path` would not survive a reboot; None if it would, or if the mounts are unknown."""
    mount = _mount_of(path, mounts)
    if mount is None:
        return None
    if mount.kind in _IN_MEMORY:
        return f"is in memory ({mount.kind} at {mount.place})"
    if mount.kind != "overlay":
        return None
    upper = re.search(r"(?:^|,)upperdir=([^,]+)", mount.options)
    below = _mount_of(upper[1], mounts) if upper else None
    if below is None:
        return None     # without an upper layer it is read-only, which is detected elsewhere
    if below.kind in _IN_MEMORY:
        return f"is an overlay whose upper layer {upper[1]} is in memory ({below.kind})"
    if below == mount:
        return f"is an overlay whose upper layer {upper[1]} cannot be seen, so whether it lasts cannot be told"
    return None


def _mount_of(path: str, mounts: list[Mount]) -> Mount | None:
    """Return the mount of `path`: the innermost, and of several at one place the last."""
    found = None
    for mount in mounts:
        place = mount.place.rstrip("/")
        if f"{path}/".startswith(f"{place}/") and (found is None or len(place) >= len(found.place.rstrip("/"))):
            found = mount
    return found
