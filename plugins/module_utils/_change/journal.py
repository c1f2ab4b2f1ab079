# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""/run/gpuhost/journal.jsonl: one line before and one after every write, by one writer at a time.

/run is a tmpfs, so the journal lasts as long as the runtime settings: until the next boot.
"""
from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import time
from collections.abc import Iterable
from typing import Any

from .._host.host import Host
from .._host.reading import DENIED, Reading, error_text, from_error, ok
from .._host.run_folder import FOLDER, RUN, open_file, open_folder, require_usable, write_all
from .journal_lines import parse_lines
from .moment import BOOT_ID, utc_now

JOURNAL = "journal.jsonl"
LOCK = "lock"
SIZE_LIMIT = 64 << 20       # bytes read
POLL = 0.1                  # seconds between attempts to take the lock

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class JournalError(Exception):
    """The journal cannot store a record, so nothing may be written."""


def new_run_id() -> str:
    """Return `20261129T183000Z-4f2a`: the start of a run, and a suffix to distinguish runs of the same second."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(2).hex()}"


def check_run_id(text: str) -> str:
    if not _RUN_ID.fullmatch(text):
        raise ValueError(f"run_id {text!r}: only letters, digits, dots, hyphens and underscores, at most 64")
    return text


class Journal:
    """The journal of one host for one run; a context manager that holds the writer's lock."""

    def __init__(self, host: Host, run_id: str, lock_timeout: float = 10.0) -> None:
        self.host = host
        self.run_id = run_id
        self.lock_timeout = lock_timeout
        self._folder: int | None = None
        self._lock: int | None = None
        self._lines: int | None = None
        self._boot: str | None = None

    def obstacle(self) -> str | None:
        """Return why nothing could be recorded, as far as is known without creating anything."""
        try:
            self.host.require_writable()
            self._require_boot()
            require_usable(self.host, (LOCK, JOURNAL))
        except JournalError as error:
            return str(error)
        except OSError as error:
            return _journal_text(error)
        return None

    def _require_boot(self) -> str:
        """Return the current boot id, which distinguishes lines from those of another boot."""
        boot = self.host.read(BOOT_ID)
        if not boot.value:
            raise JournalError(f"no journal, so no write: {BOOT_ID} has no boot id "
                               f"({boot.detail or 'it is empty'})")
        return boot.value

    def __enter__(self) -> Journal:
        try:
            self.host.require_writable()
            self._boot = self._require_boot()
            self._folder = open_folder(self.host, create=True)
            self._take_lock()
            self._lines = open_file(self._folder, JOURNAL, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            self._end_torn_line()
        except OSError as error:
            self._close()
            raise JournalError(_journal_text(error)) from error
        except JournalError:
            self._close()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        self._close()

    def start(self, lines: Iterable[dict[str, Any]]) -> None:
        """Record planned writes: `address, before, wanted, identity, restores`. Raises JournalError."""
        self._append("start", lines)

    def end(self, lines: Iterable[dict[str, Any]]) -> None:
        """Record the values read back: `address, after, outcome`. Raises JournalError."""
        self._append("end", lines)

    def _append(self, event: str, lines: Iterable[dict[str, Any]]) -> None:
        stamp = {"event": event, "at": utc_now(), "run": self.run_id, "boot": self._boot, "pid": os.getpid()}
        data = "".join(json.dumps({**stamp, **line}, ensure_ascii=True) + "\n" for line in lines).encode()
        try:
            write_all(self._lines, data)
            os.fsync(self._lines)
        except OSError as error:
            raise JournalError(_journal_text(error)) from error

    def _end_torn_line(self) -> None:
        # A killed run may have left a partial line: the next one must not be appended to it.
        size = os.fstat(self._lines).st_size
        if size and os.pread(self._lines, 1, size - 1) != b"\n":
            write_all(self._lines, b"\n")

    def _take_lock(self) -> None:
        self._lock = open_file(self._folder, LOCK, os.O_RDWR | os.O_CREAT)
        limit = time.monotonic() + self.lock_timeout
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise
                if time.monotonic() >= limit:
                    raise JournalError(_held_text(self._lock, self.lock_timeout)) from None
                time.sleep(POLL)
        os.ftruncate(self._lock, 0)
        holder = {"run": self.run_id, "pid": os.getpid(), "since": utc_now()}
        os.pwrite(self._lock, json.dumps(holder).encode(), 0)

    def _close(self) -> None:
        for handle in (self._lines, self._lock, self._folder):
            if handle is not None:
                os.close(handle)        # closing the lock file releases the lock
        self._folder = self._lock = self._lines = None


def read_journal(host: Host) -> Reading:
    """Read the usable lines of the journal, oldest first; absent if no run has written since boot."""
    return read_lines(host)[0]


def read_lines(host: Host) -> tuple[Reading, list[dict]]:
    """Return the result of read_journal(), and the unusable lines: `[{line, reason}]`, counted from 1."""
    try:
        folder = open_folder(host)
        try:
            handle = open_file(folder, JOURNAL, os.O_RDONLY)
        finally:
            os.close(folder)
    except OSError as error:
        # A link in place of the folder gives ENOTDIR, which does not mean that the journal is missing.
        absent = error.errno == errno.ENOENT
        return from_error(error) if absent else Reading(DENIED, None, error_text(error)), []
    with open(handle, "rb") as stream:
        lines, unusable = parse_lines(stream.read(SIZE_LIMIT))
    return ok(lines), unusable


def _journal_text(error: OSError) -> str:
    return f"no journal, so no write: {RUN}/{FOLDER}: {error_text(error)}"


def _held_text(lock: int, waited: float) -> str:
    try:
        holder = json.loads(os.pread(lock, 4096, 0))
        who = f"run {holder['run']} (pid {holder['pid']}) has held the lock since {holder['since']}"
    except (ValueError, KeyError, TypeError, OSError, RecursionError):
        who = "another run holds the lock"
    return f"the host is being changed by another run: {who}; waited {waited:g} s"
