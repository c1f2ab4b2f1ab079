# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""/run/gpuhost, which holds state that lasts until the next boot.

The folder and its files are opened in a way that rejects links and files of other users.
"""
from __future__ import annotations

import errno
import os
import stat

from .host import Host

RUN = "/run"
FOLDER = "gpuhost"

_OTHERS = 0o077             # permission bits of group and others, which must be clear
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def open_folder(host: Host, create: bool = False) -> int:
    """Open /run/gpuhost, which only its owner may access. Raises OSError."""
    run = host.local(RUN)
    if create and not host.live:
        os.makedirs(run, mode=0o755, exist_ok=True)
    above = os.open(run, os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if create:
            try:
                os.mkdir(FOLDER, 0o700, dir_fd=above)
            except FileExistsError:
                pass
        handle = os.open(FOLDER, os.O_DIRECTORY | _OPEN, dir_fd=above)
    finally:
        os.close(above)
    return _require_ours(handle, FOLDER)


def open_file(folder: int, name: str, flags: int) -> int:
    """Open a regular file without further hard links in that folder. Raises OSError."""
    handle = os.open(name, flags | _OPEN, 0o600, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(handle).st_mode) or os.fstat(handle).st_nlink != 1:
        os.close(handle)
        raise OSError(errno.EPERM, f"{name} is not a regular file with one link")
    return _require_ours(handle, name)


def require_usable(host: Host, names: tuple[str, ...]) -> None:
    """Raise the OSError that opening the folder and these files for writing would raise; creates nothing."""
    run = host.local(RUN)
    if not os.path.isdir(f"{run}/{FOLDER}") and not os.path.lexists(f"{run}/{FOLDER}"):
        _require_folder_can_be_made(run)
        return
    folder = open_folder(host)
    try:
        _require_writable_mount(os.fstatvfs(folder))
        for name in names:
            try:
                os.close(open_file(folder, name, os.O_RDONLY))
            except FileNotFoundError:
                continue
            if not os.access(name, os.W_OK, dir_fd=folder):
                raise OSError(errno.EPERM, f"{name} cannot be written")
    finally:
        os.close(folder)


def _require_folder_can_be_made(above: str) -> None:
    while not os.path.lexists(above):       # below a sysroot /run is created too
        above = os.path.dirname(above)
    _require_writable_mount(os.statvfs(above))
    if not os.path.isdir(above):
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(above, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def _require_writable_mount(seen: os.statvfs_result) -> None:
    if seen.f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def _require_ours(handle: int, name: str) -> int:
    seen = os.fstat(handle)
    if seen.st_uid != os.geteuid() or seen.st_mode & _OTHERS:
        os.close(handle)
        raise OSError(errno.EPERM, f"{name} has the owner {seen.st_uid} and the mode {stat.S_IMODE(seen.st_mode):04o}, "
                                   f"expected the owner {os.geteuid()} and nothing for others")
    return handle


def write_all(handle: int, data: bytes) -> None:
    """Write all of `data`. Raises OSError."""
    while data:
        data = data[os.write(handle, data):]
