# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Open folders of a host component by component; a link in the path is an error and never followed."""
from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from .._host.host import Host

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MODE = 0o755
# Systems whose /usr is read-only have /usr/local elsewhere (ostree: "Adapting existing mainstream distributions").
_MOVED = {"/usr/local": "/var/usrlocal"}


class InTheWay(Exception):
    """Something that is not ours, and is not touched, is at the place of a file or a folder of ours."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path} {what}")
        self.path = path
        self.what = what


def real_path(host: Host, path: str) -> str:
    """Return the real path of `path` on a system that moves one of its parents by design."""
    for parent, place in _MOVED.items():
        if path.startswith(f"{parent}/"):
            try:
                text = os.readlink(_root(host) + parent)
            except OSError:
                return path
            if os.path.normpath(os.path.join(os.path.dirname(parent), text)) == place:
                return place + path[len(parent):]
    return path


@contextmanager
def opened(host: Host, path: str, make: bool = False) -> Iterator[int]:
    """Open the folder `path`; an empty path is the root.

    Raises InTheWay; FileNotFoundError if it is missing and `make` is false.
    """
    handle = os.open(_root(host) or "/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        here = ""
        for name in filter(None, real_path(host, path).split("/")):
            here = f"{here}/{name}"
            handle = _step(handle, name, here, make)
        yield handle
    finally:
        os.close(handle)


def _step(above: int, name: str, here: str, make: bool) -> int:
    """Open `name` in the folder `above`, and close the handle of `above` on success."""
    try:
        handle = os.open(name, _FOLDER, dir_fd=above)
    except FileNotFoundError:
        if not make:
            raise
        os.mkdir(name, MODE, dir_fd=above)
        os.fsync(above)
        handle = os.open(name, _FOLDER, dir_fd=above)
        os.fchmod(handle, MODE)         # whatever the umask
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        raise InTheWay(here, describe_link(above, name) or "is not a folder") from None
    os.close(above)
    return handle


def missing(host: Host, path: str) -> list[str]:
    """List the folders to create for the folder `path`, the outermost first. Raises InTheWay."""
    parts = real_path(host, path).strip("/").split("/")
    for number in range(len(parts), 0, -1):
        try:
            with opened(host, "/" + "/".join(parts[:number])):
                return ["/" + "/".join(parts[:count]) for count in range(number + 1, len(parts) + 1)]
        except FileNotFoundError:
            continue
    return ["/" + "/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def describe_link(folder: int, name: str) -> str | None:
    """Describe a link for a message; None if it is no link."""
    try:
        text = os.readlink(name, dir_fd=folder)
    except OSError:
        return None
    store = next((f", a store that {tool} fills: set it in its configuration" for prefix, tool in
                  (("/nix/store", "NixOS"), ("/etc/static", "NixOS"), ("/gnu/store", "Guix")) if prefix in text), "")
    return f"is a link to {text}{store}; links are never followed"


def _root(host: Host) -> str:
    return "" if host.live else host.sysroot
