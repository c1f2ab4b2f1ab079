# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The only code that writes below /etc and /usr, and of these only the files of the fixed list in paths.py.

A file is written beside its place, made durable, and renamed over it: it is there as a whole or not at all. What a run
that was killed left beside it has a name that no service reads, and the next run removes it.
"""
from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable
from typing import Any, NamedTuple

from .._host.host import Host
from .._host.run_folder import write_all
from .folders import InTheWay, missing, opened
from .paths import EVERY_PATH

MODE = 0o644
SIZE_LIMIT = 16 << 20       # bytes read of a file
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Link(NamedTuple):
    """A file of the list that is a link with this text."""

    text: str


class Found(NamedTuple):
    """What lies at a path of the list: `entry` as the ledger has it, and the content; None where nothing lies there."""

    entry: dict[str, Any] | None
    content: bytes | Link | None = None


def describe(content: bytes | Link) -> dict[str, Any]:
    """The entry of the ledger for a file: `{sha256, mode}`, or `{link}`."""
    if isinstance(content, Link):
        return {"link": content.text}
    return {"sha256": hashlib.sha256(content).hexdigest(), "mode": f"{MODE:04o}"}


class Files:
    """Looks at the files of the list and writes them."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def look(self, path: str) -> Found:
        """Raises InTheWay for a folder or a device in the place of a file, and for a link on the way."""
        folder, name = split(path)
        try:
            with opened(self.host, folder) as above:
                seen = os.stat(name, dir_fd=above, follow_symlinks=False)
                if stat.S_ISLNK(seen.st_mode):
                    text = os.readlink(name, dir_fd=above)
                    return Found({"link": text}, Link(text))
                if not stat.S_ISREG(seen.st_mode):
                    raise InTheWay(path, "is not a regular file")
                with open(os.open(name, _READ, dir_fd=above), "rb") as stream:
                    data = stream.read(SIZE_LIMIT)
        except FileNotFoundError:
            return Found(None)
        return Found({"sha256": hashlib.sha256(data).hexdigest(), "mode": f"{stat.S_IMODE(seen.st_mode):04o}"}, data)

    def put(self, path: str, content: bytes | Link) -> None:
        """Replace what lies there, a link itself and not what it leads to. Raises OSError, InTheWay."""
        folder, name = split(path)
        self.host.require_writable()
        with opened(self.host, folder, make=True) as above:
            new = temporary(name)
            unlink(above, new)
            if isinstance(content, Link):
                os.symlink(content.text, new, dir_fd=above)
            else:
                write_new(above, new, content)
            os.rename(new, name, src_dir_fd=above, dst_dir_fd=above)
            os.fsync(above)

    def remove(self, path: str) -> None:
        """Raises OSError, InTheWay."""
        folder, name = split(path)
        self.host.require_writable()
        with opened(self.host, folder) as above:
            os.unlink(name, dir_fd=above)
            os.fsync(above)

    def leftovers(self) -> list[str]:
        """What runs that were killed left beside the files of the list."""
        return [path for path in EVERY_PATH if self._leftover(path, remove=False)]

    def sweep(self) -> None:
        """Remove it."""
        self.host.require_writable()
        for path in EVERY_PATH:
            self._leftover(path, remove=True)

    def _leftover(self, path: str, remove: bool) -> bool:
        folder, name = split(path)
        try:
            with opened(self.host, folder) as above:
                os.stat(temporary(name), dir_fd=above, follow_symlinks=False)
                if remove:
                    os.unlink(temporary(name), dir_fd=above)
                return True
        except (FileNotFoundError, InTheWay):
            return False

    def remove_folders(self, folders: Iterable[str]) -> None:
        """Those that are empty, the innermost first; one that is not is in use by now."""
        self.host.require_writable()
        for path in sorted(folders, key=len, reverse=True):
            above_path, _slash, name = path.rpartition("/")
            try:
                with opened(self.host, above_path) as above:
                    os.rmdir(name, dir_fd=above)
                    os.fsync(above)
            except (FileNotFoundError, InTheWay):
                continue
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY):
                    raise

    def folders_to_make(self, paths: Iterable[str]) -> list[str]:
        """The folders that are missing for these files, the outermost first. Raises InTheWay."""
        return list(dict.fromkeys(folder for path in paths for folder in missing(self.host, split(path)[0])))


def temporary(name: str) -> str:
    """Neither systemd, sysctl nor udev reads a file that ends so."""
    return f".{name}.gpuhost-new"


def write_new(folder: int, name: str, data: bytes) -> None:
    handle = os.open(name, _CREATE, 0o600, dir_fd=folder)
    try:
        write_all(handle, data)
        os.fchmod(handle, MODE)
        os.fsync(handle)
    finally:
        os.close(handle)


def unlink(folder: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass


def split(path: str) -> tuple[str, str]:
    """Folder and name of a path of the list; nothing else is written."""
    if path not in EVERY_PATH:
        raise ValueError(f"{path} is not a file of gpuhost.tuning")
    folder, _slash, name = path.rpartition("/")
    return folder, name
