# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""A host as described by a report: its files, links, and what the report lacks. Nothing is written here."""
from __future__ import annotations

import errno
import posixpath
from typing import Any

FILES_LIMIT = 128 << 20     # bytes of all files together
FILE_COUNT_LIMIT = 50_000
NAME_LIMIT = 255            # bytes of one component, NAME_MAX of Linux
DEPTH_LIMIT = 40
RECORDED = "/recorded/"


class Refused(Exception):
    """A file is not a usable report; the message says what was expected and found, and what to do."""


def clean_path(path: str) -> str | None:
    """`path` without `.` and repeated slashes; None if it is not a path of a host, or leads above its start."""
    if not path.startswith("/") or "\0" in path:
        return None
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if not steps or ".." in steps or len(steps) > DEPTH_LIMIT or any(len(step.encode()) > NAME_LIMIT for step in steps):
        return None
    return "/" + "/".join(steps)


class RecordedHost:
    """The content below a sysroot, by path on the host, and of recorded/answers.json and recorded/source.json."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.modes: dict[str, int] = {}
        self.links: dict[str, str] = {}
        self.outer_links: dict[str, str] = {}       # the text of links that a folder cannot hold
        self.folders: set[str] = set()
        self.open: str | None = None
        self.closed: list[str] = []
        self.listed: list[str] = []
        self.not_recorded: dict[str, str] = {}
        self.cut: dict[str, str] = {}
        self.failures: dict[str, Any] = {}
        self.notes: list[str] = []
        self.source: dict[str, Any] = {"kind": None, "name": None, "collected_at": None, "script": None}
        self._bytes = 0

    # -- files ------------------------------------------------------------------------------------------------

    def put(self, path: str, content: str | bytes, mode: int | None = None) -> None:
        """Add a file of the host; the first version is kept. Raises Refused if the total is too large."""
        clean = clean_path(path)
        if clean is None or clean in self.files:
            return
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        self._bytes += len(data)
        if self._bytes > FILES_LIMIT or len(self.files) >= FILE_COUNT_LIMIT:
            raise Refused(f"it holds more than {FILES_LIMIT >> 20} MiB or {FILE_COUNT_LIMIT} files of a host: "
                          "wanted a report of one machine")
        self.files[clean] = data
        if mode is not None:
            self.modes[clean] = mode

    def put_line(self, path: str, text: object) -> None:
        """Add an attribute in the kernel's format: one line."""
        self.put(path, f"{text}\n")

    def replace(self, path: str, content: str | bytes) -> None:
        """Replace a file that is made from others once all are known."""
        self._bytes -= len(self.files.pop(path, b""))
        self.put(path, content)

    def text(self, path: str) -> str | None:
        """The text of a file that was added already."""
        data = self.files.get(path)
        return None if data is None else data.decode("utf-8", "replace")

    def link(self, path: str, target: str) -> None:
        """Add a symbolic link of the host; `target` is an absolute path on the host, stored as a relative one."""
        clean, wanted = clean_path(path), clean_path(target)
        if clean is not None and wanted is not None:
            self.links.setdefault(clean, posixpath.relpath(wanted, posixpath.dirname(clean)))

    def folder(self, path: str) -> None:
        """Add a folder that exists even if its content is unknown."""
        clean = clean_path(path)
        if clean is not None:
            self.folders.add(clean)

    # -- what is complete, and what is missing ----------------------------------------------------------------

    def close(self, path: str) -> None:
        """All content at and below `path` is recorded, except paths with a reason of their own."""
        clean = clean_path(path)
        if clean is not None and clean not in self.closed:
            self.closed.append(clean)

    def list_whole(self, folder: str) -> None:
        """The host has no other names in `folder` than the files here, though more may lie below those."""
        clean = clean_path(folder)
        if clean is not None and clean not in self.listed:
            self.folder(clean)
            self.listed.append(clean)

    def leave_out(self, path: str, reason: str) -> None:
        """Anything missing at and below `path` was not recorded, for this reason."""
        clean = clean_path(path)
        if clean is not None:
            self.not_recorded.setdefault(clean, reason)

    def deny(self, path: str) -> None:
        """The host has `path`, but the author of the report was not permitted to read it."""
        clean = clean_path(path)
        if clean is not None:
            self.failures.setdefault(clean, errno.EACCES)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def answers(self) -> dict[str, Any]:
        """recorded/answers.json."""
        answers: dict[str, Any] = {"failures": self.failures, "links": self.outer_links}
        if self.open is not None:
            answers["open"] = self.open
        for name, found in (("closed", sorted(self.closed)), ("listed", sorted(self.listed)),
                            ("not_recorded", self.not_recorded), ("cut", self.cut)):
            if found:
                answers[name] = found
        return answers

    def fill(self, other: RecordedHost) -> None:
        """Fill gaps from another report of the same host."""
        for path, data in other.files.items():
            self.put(path, data, other.modes.get(path))
        for path, target in other.links.items():
            self.links.setdefault(path, target)
        self.folders |= other.folders
        for path, text in other.outer_links.items():
            self.outer_links.setdefault(path, text)
        for path in other.closed:
            self.close(path)
        for path in other.listed:
            self.list_whole(path)
        for path in other.failures:
            if path not in self.files:
                self.failures.setdefault(path, other.failures[path])
        for path, reason in other.cut.items():
            self.cut.setdefault(path, reason)
        # The reason for a gap is dropped once either report has the content.
        self.not_recorded = {path: reason for path, reason in self.not_recorded.items()
                             if path in other.not_recorded or path not in other.files}
        for text in other.notes:
            self.note(text)
        self._follow_links()

    def _follow_links(self) -> None:
        """Content that one source has below a link of another is moved to where the link leads."""
        for places in (self.files, self.modes, self.not_recorded, self.cut, self.failures):
            for path in list(places):
                real = self._followed(path)
                if real != path:
                    places.setdefault(real, places.pop(path))
        self.folders = {self._followed(path) for path in self.folders} - self.links.keys()
        self.closed = [self._followed(path) for path in self.closed]

    def _followed(self, path: str) -> str:
        for end in range(1, path.count("/")):
            above = "/".join(path.split("/")[:-end])
            if above in self.links:
                target = posixpath.normpath(f"{posixpath.dirname(above)}/{self.links[above]}")
                return target + path[len(above):]
        return path
