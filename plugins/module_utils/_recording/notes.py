# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What a recorder stores of a host: files, links and folders by path, and other answers."""
from __future__ import annotations

import base64
import errno
import os
import stat
from typing import Any

FILE, FOLDER, LINK = "file", "folder", "link"
_NO_ANSWER = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV)      # implied by the recorded files


class Notes:
    """What is known about each path of a host; paths contain no links."""

    def __init__(self, live: bool) -> None:
        self.live = live                            # whether device nodes are read from the file system
        self.kinds: dict[str, str] = {}             # FILE, FOLDER or LINK
        self.modes: dict[str, int] = {}
        self.times: dict[str, int] = {}             # modification times of files, seconds since 1970
        self.data: dict[str, bytes] = {}
        self.pieces: set[str] = set()               # files of which only single registers were read
        self.links: dict[str, str] = {}             # the texts
        self.shown: set[str] = set()                # links whose text was read
        self.failures: dict[str, Any] = {}          # as in recorded/answers.json
        self.nodes: dict[str, dict] = {}            # as in recorded/dev.json

    def see(self, path: str, local: str) -> None:
        """Note the kind of file at `path`, whose local path is `local`."""
        if path in self.kinds:
            return
        try:
            seen = os.lstat(local)
        except OSError:
            return
        kind = FILE if stat.S_ISREG(seen.st_mode) else FOLDER if stat.S_ISDIR(seen.st_mode) else None
        if stat.S_ISLNK(seen.st_mode):
            self.follow(path, os.readlink(local))
        elif kind is not None:      # device nodes are in `nodes`; other special files cannot be read
            self.kinds[path] = kind
            self.modes[path] = stat.S_IMODE(seen.st_mode)
            self.times[path] = int(seen.st_mtime)

    def follow(self, path: str, text: str) -> None:
        if path not in self.kinds:
            self.kinds[path] = LINK
            self.links[path] = text

    def put(self, path: str, data: bytes) -> None:
        """Note data read from the beginning of a file."""
        self.kinds[path] = FILE
        tail = self.data[path][len(data):] if path in self.pieces else b""
        self.data[path] = data + tail

    def put_at(self, path: str, offset: int, data: bytes) -> None:
        """Note `data` read at `offset`; unread bytes before it stay zero."""
        known = self.data.get(path, b"")
        self.pieces.add(path)
        self.kinds[path] = FILE
        self.data[path] = known[:offset].ljust(offset, b"\0") + data + known[offset + len(data):]

    def fail(self, path: str, error: OSError) -> None:
        if error.errno not in _NO_ANSWER:
            self.failures[path] = error.errno

    def as_json(self) -> dict:
        """Return the notes for a child process to send to its parent."""
        data = {path: base64.b64encode(read).decode() for path, read in self.data.items()}
        told = {**vars(self), "data": data, "shown": list(self.shown), "pieces": list(self.pieces)}
        del told["live"]
        return told

    def add(self, other: dict) -> None:
        """Add the notes returned by as_json()."""
        for name, found in other.items():
            if name == "data":
                found = {path: base64.b64decode(read) for path, read in found.items()}
            getattr(self, name).update(found)


def inside(path: str, text: str) -> str:
    """Return a relative link text for `path` with the target that `text` has on the host, where /.. is /."""
    folder = os.path.dirname(path)
    target = os.path.normpath(os.path.join(folder, text))       # .. at the root stays at the root
    return text if stays_inside(folder, text) else os.path.relpath(target, folder)


def stays_inside(folder: str, text: str) -> bool:
    """Whether a link in `folder` stays inside whatever other links exist: `..` occurs only at its beginning."""
    steps = text.split("/")
    climbs = next((number for number, step in enumerate(steps) if step != ".."), len(steps))
    depth = sum(1 for step in folder.split("/") if step)
    return not text.startswith("/") and ".." not in steps[climbs:] and climbs <= depth
