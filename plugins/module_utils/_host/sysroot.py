# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Path resolution below a host's root: `/`, or a folder that mirrors a host, which no link may leave."""
from __future__ import annotations

import errno
import json
import os

from .reading import ENOTSUPP, LackingError
from .recorded_world import ALWAYS_THERE, RecordedWorld

MARKER = ".gpuhost-sysroot"
LINK_LIMIT = 40         # as MAXSYMLINKS in include/linux/namei.h
# O_NONBLOCK: a FIFO in place of a file must not block the reader; regular files ignore it.
READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
ANSWERS = "recorded/answers.json"


class OutsideSysroot(OSError):
    """A path or a link of a recorded host leads above the sysroot."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EXDEV, f"{path} leads outside the sysroot")


def require_path(path: str) -> None:
    """Raise OSError (ENOENT) for a text that no system call accepts as a path."""
    try:
        if "\0" not in path:
            os.fsencode(path)
            return
    except UnicodeEncodeError:
        pass
    raise OSError(errno.ENOENT, "invalid path: it contains characters that a path cannot contain")


def _is_failure(answer: object) -> bool:
    if isinstance(answer, int):
        return answer in errno.errorcode or answer == ENOTSUPP
    return (isinstance(answer, list) and len(answer) == 2
            and answer[0] in ("absent", "unparsable") and isinstance(answer[1], str))


class Sysroot:
    """The folder below which a host's paths are resolved. ValueError: there is no such folder."""

    def __init__(self, sysroot: str = "/") -> None:
        self.sysroot = os.path.abspath(sysroot)
        if not os.path.isdir(self.sysroot):
            raise ValueError(f"sysroot {sysroot} is not a directory on this host")
        self.live = self.sysroot == "/"
        self._prefix = "" if self.live else self.sysroot
        self._resolved: dict[str, str] = {"": "/", "/": "/"}
        # Recorded answers that files cannot represent: `{path: errno}` for a failed read, for a program
        # `{path: [status, detail]}`; `{path: text}` for links that lead out of a folder.
        self.failures: dict[str, int | list] = {}
        self.link_texts: dict[str, str] = {}
        self.world = RecordedWorld({})

    def read_answers(self) -> None:
        """Load the recorded answers. ValueError: the file is malformed."""
        try:
            with open(os.path.join(self.sysroot, ANSWERS), encoding="utf-8") as file:
                answers = json.load(file)
            self.failures = {path: answer for path, answer in answers.get("failures", {}).items()
                             if _is_failure(answer)}
            self.link_texts = {path: text for path, text in answers.get("links", {}).items() if isinstance(text, str)}
            self.world = RecordedWorld(answers)
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{self.sysroot}/{ANSWERS} is not a valid part of a recording: {error}") from None
        for folder in ALWAYS_THERE:
            if not os.path.isdir(self._prefix + folder):
                self.world.lacking.setdefault(folder, f"the recording has no {folder}")

    def fail_as_recorded(self, path: str) -> None:
        """Raise the OSError that the host returned for `path` when it was recorded."""
        number = self.failures.get(self.resolve(path))
        if isinstance(number, int):
            raise OSError(number, os.strerror(number))

    # -- what a recording lacks ---------------------------------------------------------------------------------------

    def why_missing(self, path: str) -> str | None:
        """Why it is unknown whether a path missing here exists; None if the host does not have it."""
        return None if self.world.whole else self.world.why_missing(self._spellings(path), self._is_there)

    def why_not_whole(self, folder: str) -> str | None:
        """Why the listing of a folder may be incomplete; None if it is complete."""
        return None if self.world.whole else self.world.why_not_whole(self._spellings(folder), self._is_there)

    def why_cut(self, path: str) -> str | None:
        """Why a file is truncated in this recording; None if it is complete."""
        return self.world.why_cut(self._spellings(path)) if self.world.cut else None

    def _spellings(self, path: str) -> tuple[str, ...]:
        try:
            return path, self.resolve(path)
        except OSError:
            return (path,)

    def _is_there(self, path: str) -> bool:
        return os.path.lexists(self._prefix + path)

    def require_recorded(self, path: str, error: OSError) -> None:
        """Raise LackingError if `error` says that `path` is missing but the recording does not settle it."""
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            reason = self.why_missing(path)
            if reason is not None:
                raise LackingError(reason) from None

    def open(self, path: str) -> int:
        """Open a file for reading. Raises OSError, including LackingError."""
        if self.failures:
            self.fail_as_recorded(path)
        try:
            return os.open(self.local(path), READ_FLAGS)
        except OSError as error:
            self.require_recorded(path, error)
            raise

    def link_text(self, here: str, name: str) -> str:
        """The text of the link `name` in the folder with the local path `here`. Raises OSError."""
        path = f"{here}/{name}"
        if self.live:
            return os.readlink(path)
        inside = path[len(self.sysroot):]
        if isinstance(self.failures.get(inside), int):
            raise OSError(self.failures[inside], os.strerror(self.failures[inside]))
        if inside in self.link_texts:
            return self.link_texts[inside]
        try:
            return os.readlink(path)
        except OSError as error:
            self.require_recorded(inside, error)
            raise

    def resolve(self, path: str) -> str:
        """Follow every link in a path of the host; the result is a path of the host and need not exist.

        An absolute link starts at the sysroot. Raises OutsideSysroot if `..` leads above it, ELOOP for a loop.
        """
        require_path(path)
        return os.path.realpath(path) if self.live else self._walk(path, 0)

    def _walk(self, path: str, depth: int) -> str:
        known = self._resolved.get(path)
        if known is not None:
            return known
        parent, _slash, name = path.rstrip("/").rpartition("/")
        above = self._walk(parent, depth)
        if name in ("", "."):
            here = above
        elif name == "..":
            if above == "/":
                raise OutsideSysroot(path)
            here = os.path.dirname(above)
        else:
            here = self._follow(above, name, depth)
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
        return self._walk(target if target.startswith("/") else f"{folder.rstrip('/')}/{target}", depth + 1)

    def local(self, path: str) -> str:
        """The local path of the host's `path`. Raises OSError if there can be no such path."""
        require_path(path)
        return path if self.live else self._prefix + self.resolve(path)

    def require_writable(self) -> None:
        """Raise OSError (EROFS) below a sysroot without the marker file."""
        if not self.live and not os.path.exists(os.path.join(self.sysroot, MARKER)):
            raise OSError(errno.EROFS, f"{self.sysroot} has no {MARKER}: a directory without it is never written to")
