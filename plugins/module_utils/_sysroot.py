# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Where a host's files lie: the machine's own root, or a folder that mirrors one, with every link kept inside."""
from __future__ import annotations

import errno
import os

MARKER = ".gpuhost-sysroot"
LINK_LIMIT = 40         # as MAXSYMLINKS in include/linux/namei.h


class OutsideSysroot(OSError):
    """A path or a link of a recorded host climbs above the sysroot."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EXDEV, f"{path} leads out of the sysroot")


class Sysroot:
    """The folder below which a host's paths are looked up. ValueError: there is no such folder."""

    def __init__(self, sysroot: str = "/") -> None:
        self.sysroot = os.path.abspath(sysroot)
        if not os.path.isdir(self.sysroot):
            raise ValueError(f"sysroot {sysroot} is not a folder on this host")
        self.live = self.sysroot == "/"
        self._prefix = "" if self.live else self.sysroot
        self._resolved: dict[str, str] = {"": "/", "/": "/"}

    def resolve(self, path: str, _depth: int = 0) -> str:
        """`path` of the host with every link in it followed, as a path of the host. It need not exist.

        An absolute link starts at the sysroot. Raises OutsideSysroot where `..` climbs above it, ELOOP for a loop.
        """
        if self.live:
            return os.path.realpath(path)
        known = self._resolved.get(path)
        if known is not None:
            return known
        parent, _slash, name = path.rstrip("/").rpartition("/")
        above = self.resolve(parent, _depth)
        if name in ("", "."):
            here = above
        elif name == "..":
            if above == "/":
                raise OutsideSysroot(path)
            here = os.path.dirname(above)
        else:
            here = self._follow(above, name, _depth)
        self._resolved[path] = here
        return here

    def _follow(self, folder: str, name: str, depth: int) -> str:
        here = f"{folder.rstrip('/')}/{name}"
        try:
            target = os.readlink(self._prefix + here)
        except OSError:
            return here
        if depth >= LINK_LIMIT:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), here)
        return self.resolve(target if target.startswith("/") else f"{folder.rstrip('/')}/{target}", depth + 1)

    def local(self, path: str) -> str:
        """The path under which this process opens the host's `path`."""
        return path if self.live else self._prefix + self.resolve(path)

    def require_writable(self) -> None:
        """Raises OSError (EROFS) below a sysroot that does not carry the marker file."""
        if not self.live and not os.path.exists(os.path.join(self.sysroot, MARKER)):
            raise OSError(errno.EROFS, f"{self.sysroot} has no {MARKER}: a folder without it is never written")
