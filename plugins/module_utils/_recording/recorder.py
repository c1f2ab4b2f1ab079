# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""A host that notes all requests and answers, so that a folder can give the same answers later.

It opens what the audit opens and nothing else. Besides that it only calls lstat(2) on paths and follows links.
"""
from __future__ import annotations

import errno
import os
import re
from typing import Any

from .._host.host import READ_LIMIT, Host
from .._host.reading import ENOTSUPP, OK, Reading
from .._host.sysroot import Sysroot
from .notes import FOLDER, LINK, Notes, inside

# Links that only the kernel can follow: their texts name the open object, not its path.
_MAGIC = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?(?:root|cwd|exe|(?:fd|ns|map_files)/[^/]+)")
_BY_NAME = {name: number for number, name in errno.errorcode.items()} | {"ENOTSUPP": ENOTSUPP}


class Below(Sysroot):
    """A folder of the host that is a root of its own for links, such as a container's root."""

    def __init__(self, path: str, local: str, notes: Notes) -> None:
        super().__init__(local)
        self._path, self._notes = path, notes
        notes.kinds[path] = FOLDER

    def _follow(self, folder: str, name: str, depth: int) -> str:
        here = f"{folder.rstrip('/')}/{name}"
        path = self._path + here
        self._notes.see(path, self._prefix + here)
        if self._notes.links.get(path, "").startswith("/"):
            # An absolute link starts at this folder, not at the host's root.
            self._notes.links[path] = inside(here, self._notes.links[path])
        return super()._follow(folder, name, depth)


class Recorder(Host):
    """A Host with `notes` of everything read through it."""

    def __init__(self, sysroot: str = "/") -> None:
        super().__init__(sysroot)
        self.notes = Notes(self.live)

    # -- paths --------------------------------------------------------------------------------------------------------

    def local(self, path: str) -> str:
        self._seen(path)
        return super().local(path)

    def _seen(self, path: str) -> str | None:
        """Resolve `path` and note it together with the links on the way; None if it leads nowhere."""
        try:
            found = self._walk(path, 0)
        except OSError:
            return None
        self.notes.see(found, self._prefix + found)
        return found

    def _follow(self, folder: str, name: str, depth: int) -> str:
        here = f"{folder.rstrip('/')}/{name}"
        if self.live and _MAGIC.fullmatch(here):
            if here.endswith("/root"):
                self.notes.kinds[here] = FOLDER
            return here
        self.notes.see(here, self._prefix + here)
        return super()._follow(folder, name, depth)

    def below(self, path: str) -> Sysroot:
        try:
            super().below(path)
        except OSError as error:
            self._answered(path, error)
            raise
        return Below(self._seen(path) or path, super().local(path), self.notes)

    def tell(self) -> dict:
        told, self.notes = self.notes.as_json(), Notes(self.live)
        return told

    def hear(self, told: dict | None) -> None:
        self.notes.add(told or {})

    # -- what was answered --------------------------------------------------------------------------------------------

    def _answered(self, path: str, answer: bytes | OSError | Reading, offset: int | None = None) -> None:
        """Note the bytes read, or the error instead."""
        found = self._seen(path)
        if isinstance(answer, Reading):
            answer = _as_error(answer)
        if found is None or answer is None:
            return
        if isinstance(answer, OSError):
            self.notes.fail(found, answer)
        elif offset is None:
            self.notes.put(found, answer)
        else:
            self.notes.put_at(found, offset, answer)

    def read_bytes(self, path: str, limit: int = READ_LIMIT) -> bytes:
        try:
            data = super().read_bytes(path, limit)
        except OSError as error:
            self._answered(path, error)
            raise
        self._answered(path, data)
        return data

    def read_at(self, path: str, offset: int, size: int) -> bytes:
        try:
            data = super().read_at(path, offset, size)
        except OSError as error:
            self._answered(path, error)
            raise
        self._answered(path, data, offset)
        return data

    def _read_attribute(self, folder: str, here: str, name: str) -> Reading:
        reading = super()._read_attribute(folder, here, name)
        self._answered(f"{folder}/{name}", f"{reading.value}\n".encode() if reading.ok else reading)
        return reading

    def contains(self, path: str, text: bytes) -> Reading:
        """Keep only the texts found in a file that is only searched."""
        reading = super().contains(path, text)
        known = self.notes.data.get(self._seen(path) or "", b"")
        if not reading.ok:
            self._answered(path, reading)
        elif reading.value and text not in known:
            self._answered(path, known + text + b"\n")
        return reading

    def read_list(self, path: str) -> Reading:
        reading = super().read_list(path)
        found = self._seen(path)
        if reading.ok and found is not None:
            for name in reading.value:
                inside = f"{found.rstrip('/')}/{name}"
                self.notes.see(inside, self._prefix + inside)
        elif not reading.ok:
            self._answered(path, reading)
        return reading

    def read_link(self, path: str) -> Reading:
        reading = super().read_link(path)
        folder, _slash, name = path.rstrip("/").rpartition("/")
        found = self._seen(folder or "/")
        if found is not None:
            self._show(f"{found.rstrip('/')}/{name}", reading)
        return reading

    def read_links(self, folder: str) -> Reading:
        reading = super().read_links(folder)
        found = self._seen(folder)
        for name, text in (reading.value or {}).items():
            self._show(f"{found}/{name}", Reading(OK, text))
        if not reading.ok:
            self._answered(folder, reading)
        return reading

    def _show(self, path: str, reading: Reading) -> None:
        error = _as_error(reading)
        if reading.ok:
            self.notes.kinds[path] = LINK
            self.notes.links[path] = reading.value
            self.notes.shown.add(path)
        elif error is not None and error.errno != errno.EINVAL:     # EINVAL: no link, which is noted elsewhere
            self.notes.fail(path, error)

    # -- what a folder cannot hold ------------------------------------------------------------------------------------

    def keep(self, name: str, answer: Any) -> None:
        path = f"/recorded/{name}"
        if isinstance(answer, Reading):
            self.notes.failures[path] = [answer.status, answer.detail]
        elif isinstance(answer, OSError):
            self.notes.failures[path] = answer.errno
        else:
            self.notes.put(path, answer.encode())

    def device_node(self, path: str) -> dict | None:
        node = super().device_node(path)
        if self.live and node is not None:
            self.notes.nodes[path] = node
        return node

    def run(self, argv: list[str], timeout: float, recorded: str | None = None, complete: str | None = None) -> Reading:
        reading = super().run(argv, timeout, recorded, complete)
        if self.live:
            self.keep(recorded or f"{os.path.basename(argv[0])}.txt", reading.value if reading.ok else reading)
        return reading


def _as_error(reading: Reading) -> OSError | None:
    """Return the error that `reading` was made from by from_error(); None for any other reading."""
    number = _BY_NAME.get((reading.detail or "").partition(" ")[0])
    return None if reading.ok or number is None else OSError(number, os.strerror(number))
