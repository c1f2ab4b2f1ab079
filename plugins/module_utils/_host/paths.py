# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What there is on a host: names in folders, links, modes and times. What files hold is for Host."""
from __future__ import annotations

import fnmatch
import os
import stat
import time
from typing import Any, Callable

from .reading import LackingError, NotRecorded, Reading, from_error, ok
from .sysroot import Sysroot


class Paths(Sysroot):
    """Nothing here raises for a machine's state, but `below`.

    What does not answer with a Reading raises NotRecorded where a recording does not tell.
    """

    def exists(self, path: str) -> bool:
        return self._look(path, os.path.exists, False)

    def is_dir(self, path: str) -> bool:
        return self._look(path, os.path.isdir, False)

    def _look(self, path: str, look: Callable[[str], Any], otherwise: Any) -> Any:
        """What `look` says of a file; `otherwise` where it cannot be looked at. Raises NotRecorded."""
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
        """Names in a folder, sorted; none where the folder cannot be read."""
        return self.read_list(path).value or []

    def read_list(self, path: str) -> Reading:
        """Names in a folder, sorted, with the status that tells an empty folder from an unreadable one."""
        try:
            return ok(sorted(self._names(path)))
        except OSError as error:
            return from_error(error)

    def _names(self, path: str) -> list[str]:
        """Names in a folder. Raises OSError, LackingError among them."""
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
        """The host's paths that match an absolute shell pattern, sorted; links are not resolved in the answer."""
        found = [""]
        for part in pattern.strip("/").split("/"):
            if any(sign in part for sign in "*?["):
                found = [f"{at}/{name}" for at in found for name in fnmatch.filter(self.list(at or "/"), part)]
            else:
                found = [f"{at}/{part}" for at in found if self.exists(f"{at}/{part}")]
        return found

    def link_name(self, path: str) -> str | None:
        """The last component of what the link `path` points to (`nvidia` for a device's `driver`), None if no link."""
        text = self.read_link(path).value
        return None if text is None else os.path.basename(text)

    def read_link(self, path: str) -> Reading:
        """The text of the link `path` itself."""
        folder, _slash, name = path.rstrip("/").rpartition("/")
        try:
            here = self.local(folder or "/").rstrip("/")
            return ok(self.link_text(here, name))
        except OSError as error:
            return from_error(error)

    def read_links(self, folder: str) -> Reading:
        """The text of every link in `folder` by its name; what is no link, or went away meanwhile, is left out.

        One call for /proc/<pid>/fd, where resolving each path again would cost more than all the reading.
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
        """Permission bits of a file, None where it cannot be looked at."""
        return self._look(path, lambda here: stat.S_IMODE(os.stat(here).st_mode), None)

    def owner(self, path: str) -> int | None:
        """The user id of a file's owner, None where it cannot be looked at."""
        return self._look(path, lambda here: os.stat(here).st_uid, None)

    def modified(self, path: str) -> str | None:
        """When a file was last written, `2026-11-29T18:30:00Z`, None where it cannot be looked at."""
        return self._look(path, _modified, None)

    def below(self, path: str) -> Sysroot:
        """The folder `path` as one with links of its own, such as a container's root. Raises OSError and ValueError.

        A live kernel resolves the last link, /proc/<pid>/root, which must not be looked through before.
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
