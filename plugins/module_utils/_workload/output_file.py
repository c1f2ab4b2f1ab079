# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The result file of a program, on this machine or in a container; only what the current run wrote counts."""
from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from .._host.program import run_program

_SECONDS = 30.0     # a container controls its own file system, which may never answer


class OutputFile:
    """The file at `path`; `prefix` starts a program in the file's container; empty without one."""

    def __init__(self, path: str, prefix: Sequence[str] = ()) -> None:
        self.path = path
        self._prefix = list(prefix)
        self._before = self._state()

    def read(self, limit: int) -> tuple[str, bool]:
        """The last `limit` bytes, and whether there are more. ValueError if this run did not write the file."""
        now = self._state()
        if now is None:
            raise ValueError(f"it did not write {self.path}: see its output, or correct output")
        if now == self._before:
            raise ValueError(f"it did not write {self.path}: the existing file is from before")
        try:
            data = self._inside("tail", "-c", str(limit + 1)) if self._prefix else self._last(limit + 1)
        except OSError as error:
            raise ValueError(f"{self.path} cannot be read: {error.strerror}") from None
        return data[-limit:].decode("utf-8", "replace"), len(data) > limit

    def _state(self) -> str | None:
        """A value that changes whenever the file is written; None if the file does not exist."""
        if self._prefix:
            told = run_program([*self._prefix, "stat", "-c", "%i %s %y %z", self.path], _SECONDS)
            return None if told is None or told.problem else told.stdout
        try:
            seen = os.stat(self.path)
        except OSError:
            return None
        return f"{seen.st_ino} {seen.st_size} {seen.st_mtime_ns}"

    def _last(self, size: int) -> bytes:
        handle = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            seen = os.fstat(handle)
            if not stat.S_ISREG(seen.st_mode):
                raise ValueError(f"{self.path} is not a regular file")
            file.seek(max(0, seen.st_size - size))
            return file.read(size)

    def _inside(self, *words: str) -> bytes:
        told = run_program([*self._prefix, *words, self.path], _SECONDS)
        if told is None or told.problem:
            raise ValueError(f"{self.path} cannot be read: {told.problem if told else 'no such program'}")
        return told.stdout.encode()
