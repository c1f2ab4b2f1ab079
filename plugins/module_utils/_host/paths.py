# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""File metadata of a host: names in folders, links, modes and times. Host reads the contents."""
from __future__ import annotations

import fnmatch
import os
import stat
import time
from typing import Any, Callable

from .reading import LackingError, NotRecorded, Reading, from_error, ok
from .sysroot import Sysroot


class Paths(Sysroot):
    """Only `below` raises because of the host's state.

    Methods that do not return a Reading raise NotRecorded where a recording lacks the answer.
    """

    def exists(self, path: str) -> bool:
        return self._look(path, os.path.exists, False)

    def is_dir(self, path: str) -> bool:
        return self._look(path, os.path.isdir, False)

    def _look(self, path: str, look: Callable[[str], Any], otherwise: Any) -> Any:
        """Call `look` on a file; `otherwise` if the file cannot be accessed. Raises NotRecorded."""
        try:
            here = self.local(path)
            if os.path.exists(here):
                return look(here)
        except (OSError, ValueError, OverflowError):
            return otherwise
        reason = self.why_missing(path)
        if reason is not None:
            raise NotRecorded(reason)
        return otherwise

    def list(self, path: str) -> list[str]:
        """List the names in a folder, sorted; empty if the folder cannot be read."""
        return self.read_list(path).value or []

    def read_list(self, path: str) -> Reading:
        """List the names in a folder, sorted; the status distinguishes an empty folder from an unreadable one."""
        try:
            return ok(sorted(self._names(path)))
        except OSError as error:
            return from_error(error)

    def _names(self, path: str) -> list[str]:
        """List the names in a folder. Raises OSError, including LackingError."""
        if self.failures:
            self.fail_as_recorded(path)
        try:
            names = os.listdir(self.local(path))
        except OSError as error:
            self.require_recorded(path, error)
            raise
        reason = self.why_not_whole(path)
        if reason is not None:
            raise LackingError(reason)
        return names

    def glob(self, pattern: str) -> list[str]:
        """List the host's paths that match an absolute shell pattern, sorted; links in them are not resolved."""
        found = [""]
        for part in pattern.strip("/").split("/"):
            if any(sign in part for sign in "*?["):
                found = [f"{at}/{name}" for at in found for name in fnmatch.filter(self.list(at or "/"), part)]
            else:
                found = [f"{at}/{part}" for at in found if self.exists(f"{at}/{part}")]
        return found

    def link_name(self, path: str) -> str | None:
        """The last component of the target of link `path` (`nvidia` for a device's `driver`), None if it is no link."""
        text = self.read_link(path).value
        return None if text is None else os.path.basename(text)

    def read_link(self, path: str) -> Reading:
        """The text of the link `path`, unresolved."""
        folder, _slash, name = path.rstrip("/").rpartition("/")
        try:
            here = self.local(folder or "/").rstrip("/")
            return ok(self.link_text(here, name))
        except OSError as error:
            return from_error(error)

    def read_links(self, folder: str) -> Reading:
        """The text of every link in `folder`, by name; anything that is no link, or has disappeared, is left out.

        One call for all of /proc/<pid>/fd, where resolving each path would cost more than the reading.
        """
        try:
            here, names = self.local(folder), self._names(folder)
        except OSError as error:
            return from_error(error)
        found = {}
        for name in names:
            try:
                found[name] = self.link_text(here, name)
            except OSError:
                continue
        return ok(found)

    def mode(self, path: str) -> int | None:
        """Permission bits of a file, None if it cannot be accessed."""
        return self._look(path, lambda here: stat.S_IMODE(os.stat(here).st_mode), None)

    def owner(self, path: str) -> int | None:
        """User id of a file's owner, None if it cannot be accessed."""
        return self._look(path, lambda here: os.stat(here).st_uid, None)

    def modified(self, path: str) -> str | None:
        """Modification time of a file, `2026-11-29T18:30:00Z`, None if it cannot be accessed."""
        return self._look(path, _modified, None)

    def below(self, path: str) -> Sysroot:
        """The folder `path` as a root of its own for links, such as a container's root. Raises OSError and ValueError.

        On a live host the kernel resolves the last link, /proc/<pid>/root; it must not be resolved here.
        """
        if self.failures:
            self.fail_as_recorded(path)
        inside = self.local(path)
        try:
            os.stat(inside)
        except OSError as error:
            self.require_recorded(path, error)
            raise
        reason = self.why_not_whole(path)
        if reason is not None:
            raise LackingError(reason)
        return Sysroot(inside)


def _modified(here: str) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(os.stat(here).st_mtime))
