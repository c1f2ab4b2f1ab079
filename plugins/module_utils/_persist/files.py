# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The only code that writes below /etc and /usr, and only the files of the fixed list in paths.py.

A file is written under a temporary name in the same folder, synced, and renamed, so it is complete or absent. Temporary
files of a killed run have a name that no service reads, and the next run removes them.
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
    """A file of the list that is a symbolic link with this text."""

    text: str


class Found(NamedTuple):
    """What is at a path of the list: `entry` in the ledger's form, and the content; both None if nothing is there."""

    entry: dict[str, Any] | None
    content: bytes | Link | None = None


def describe(content: bytes | Link) -> dict[str, Any]:
    """Return the ledger's entry for a file: `{sha256, mode}`, or `{link}`."""
    if isinstance(content, Link):
        return {"link": content.text}
    return {"sha256": hashlib.sha256(content).hexdigest(), "mode": f"{MODE:04o}"}


class Files:
    """Reads and writes the files of the list."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def look(self, path: str) -> Found:
        """Read a file. Raises InTheWay for a folder or a device in its place, and for a link in its path."""
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
        """Replace a file, or a link itself rather than its target. Raises OSError, InTheWay."""
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
        """Remove a file. Raises OSError, InTheWay."""
        folder, name = split(path)
        self.host.require_writable()
        with opened(self.host, folder) as above:
            os.unlink(name, dir_fd=above)
            os.fsync(above)

    def leftovers(self) -> list[str]:
        """List the temporary files that killed runs left."""
        return [path for path in EVERY_PATH if self._leftover(path, remove=False)]

    def sweep(self) -> None:
        """Remove the temporary files that killed runs left."""
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
        """Remove those folders that are empty, the innermost first; any other is now in use."""
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
        """List the missing folders of these files, the outermost first. Raises InTheWay."""
        return list(dict.fromkeys(folder for path in paths for folder in missing(self.host, split(path)[0])))


def temporary(name: str) -> str:
    """Return a temporary name for a file; systemd, sysctl and udev read no file with this suffix."""
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
    """Split a path of the list into folder and name; nothing else is written."""
    if path not in EVERY_PATH:
        raise ValueError(f"{path} is not a file of gpuhost.tuning")
    folder, _slash, name = path.rpartition("/")
    return folder, name
