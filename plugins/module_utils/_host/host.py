# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""All access to a host: its files, its device nodes and its programs.

A host is either the running machine (sysroot `/`) or a folder that mirrors one: `proc/`, `sys/`, `etc/`, and
`recorded/` for what a folder cannot hold (`dev.json`, `kmsg.txt`, `nvidia-smi.xml`, `<program>.txt`, `answers.json`).
Paths are those of the host (`/proc/cmdline`), whatever the sysroot. Links are resolved inside it.
"""
from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable

from .paths import Paths
from .program import run_program
from .reading import ABSENT, NOT_RECORDED, OK, UNPARSABLE, FileReading, LackingError, Reading, from_error, ok
from .sysroot import READ_FLAGS

READ_LIMIT = 4 << 20    # bytes; /proc/interrupts of a 256-CPU host is a little over 2 MiB


def require_node(node: object) -> dict:
    """Check an entry of recorded/dev.json, `{type, major, minor, mode}`. Raises ValueError for anything else."""
    if not isinstance(node, dict) or node.get("type") not in ("c", "b") or not isinstance(node.get("mode"), str) \
            or not all(isinstance(node.get(key), int) and 0 <= node[key] < 1 << 32 for key in ("major", "minor")):
        raise ValueError("it is not a device node")
    return node


class Host(Paths):
    """The host whose files are under `sysroot`.

    Methods named `read*` return a Reading and never raise because of the host's state. `read_bytes`, `read_at`, `write`
    and `write_at` raise OSError, for callers that need the errno. ValueError: there is no folder `sysroot`.
    """

    def __init__(self, sysroot: str = "/") -> None:
        super().__init__(sysroot)
        if not self.live:
            self.read_answers()

    # -- reading ----------------------------------------------------------------------------------------------

    def read_bytes(self, path: str, limit: int = READ_LIMIT) -> bytes:
        """Read up to `limit` bytes of a file. Raises OSError; LackingError for a file that is recorded only in part."""
        handle = self.open(path)
        self._require_whole(path, handle)
        try:
            pieces = []
            while limit > 0:
                piece = os.read(handle, min(limit, 1 << 16))
                if not piece:
                    break
                pieces.append(piece)
                limit -= len(piece)
            return b"".join(pieces)
        finally:
            os.close(handle)

    def read_at(self, path: str, offset: int, size: int) -> bytes:
        """Read `size` bytes from `offset` with one pread(2), fewer at the end of the file. Raises OSError.

        A file that is recorded only in part ends early: see why_cut().
        """
        handle = self.open(path)
        try:
            return os.pread(handle, size, offset)
        finally:
            os.close(handle)

    def read(self, path: str, limit: int = READ_LIMIT) -> Reading:
        """Read a text file without its final newline."""
        try:
            return FileReading.of(path, OK, self.read_bytes(path, limit).decode("utf-8", "replace").rstrip("\n"))
        except OSError as error:
            return from_error(error)

    def read_attributes(self, folder: str, names: Iterable[str]) -> dict[str, Reading]:
        """Read several attributes of one sysfs folder, by name.

        Large hosts have thousands: the folder is resolved only once, and one read(2) suffices, as an attribute is at
        most one page (Documentation/filesystems/sysfs.rst).
        """
        if not self.world.whole:
            return {name: self.read(f"{folder}/{name}") for name in names}
        try:
            here = self.local(folder)
        except OSError as error:
            return dict.fromkeys(names, from_error(error))
        return {name: self._read_attribute(folder, here, name) for name in names}

    def _read_attribute(self, folder: str, here: str, name: str) -> Reading:
        try:
            if self.failures:
                self.fail_as_recorded(f"{folder}/{name}")
            handle = os.open(f"{here}/{name}", READ_FLAGS | os.O_NOFOLLOW)
        except OSError as error:
            # A link must be resolved inside the sysroot.
            return self.read(f"{folder}/{name}") if error.errno == errno.ELOOP else from_error(error)
        try:
            text = os.read(handle, 1 << 16).decode("utf-8", "replace").rstrip("\n")
            return FileReading.of(f"{folder}/{name}", OK, text)
        except OSError as error:
            return from_error(error)
        finally:
            os.close(handle)

    def read_int(self, path: str) -> Reading:
        """Read a file that holds one decimal number."""
        return self.read(path).map(int)

    def contains(self, path: str, text: bytes) -> Reading:
        """Whether a file contains `text`; reads in blocks, for files too large to keep in memory (/proc/kallsyms)."""
        try:
            handle = self.open(path)
        except OSError as error:
            return from_error(error)
        try:
            tail = b""
            while True:
                block = os.read(handle, 1 << 18)
                if not block:
                    reason = self.why_cut(path)
                    return ok(False) if reason is None else Reading(NOT_RECORDED, None, reason)
                seen = tail + block
                if text in seen:
                    return ok(True)
                tail = seen[1 - len(text):]
        except OSError as error:
            return from_error(error)
        finally:
            os.close(handle)

    def _require_whole(self, path: str, handle: int) -> None:
        """Close the file and raise LackingError if it is recorded only in part."""
        reason = self.why_cut(path)
        if reason is not None:
            os.close(handle)
            raise LackingError(reason)

    # -- writing ----------------------------------------------------------------------------------------------

    def write(self, path: str, text: str) -> None:
        """Write `text` to an existing file with one write(2). Raises OSError, also for a short write."""
        self._write(path, text.encode(), os.O_TRUNC, 0)

    def write_at(self, path: str, offset: int, data: bytes) -> None:
        """Write to an existing file with one pwrite(2), as PCI config space requires. Raises OSError."""
        self._write(path, data, 0, offset)

    def _write(self, path: str, data: bytes, flags: int, offset: int) -> None:
        self.require_writable()
        handle = os.open(self.local(path), os.O_WRONLY | os.O_CLOEXEC | flags)
        try:
            done = os.pwrite(handle, data, offset) if offset else os.write(handle, data)
        finally:
            os.close(handle)
        if done != len(data):
            raise OSError(errno.EIO, f"short write: {done} of {len(data)} bytes written")

    # -- what a folder cannot hold ----------------------------------------------------------------------------

    def recorded(self, name: str) -> Reading:
        """Read `recorded/<name>` of a recorded host."""
        return self.read(f"/recorded/{name}")

    def keep(self, name: str, answer: str | OSError) -> None:
        """Called with each answer that did not come from a file; the recorder stores it as `recorded/<name>`."""

    def tell(self) -> dict | None:
        """Return what the recorder has noted since the last call, for a child process to pass to its parent."""

    def hear(self, told: dict | None) -> None:
        """Add what a child process noted."""

    def device_nodes(self, folder: str) -> Reading:
        """The device nodes directly in `folder` (`/dev`): `{path: {type: c|b, major, minor, mode}}`, mode octal."""
        if not self.live:
            return self.recorded("dev.json").map(json.loads).map(
                lambda nodes: {path: require_node(node) for path, node in nodes.items()
                               if os.path.dirname(path) == folder})
        found = {}
        for name in self.list(folder):
            path = f"{folder}/{name}"
            node = self.device_node(path)
            if node is not None:
                found[path] = node
        return ok(found)

    def device_node(self, path: str) -> dict | None:
        """Return `{type, major, minor, mode}` of one device node, None if it does not exist."""
        if not self.live:
            return (self.device_nodes(os.path.dirname(path)).value or {}).get(path)
        try:
            seen = os.stat(path)
        except OSError:
            return None
        kind = "c" if stat.S_ISCHR(seen.st_mode) else "b" if stat.S_ISBLK(seen.st_mode) else None
        if kind is None:
            return None
        return {"type": kind, "major": os.major(seen.st_rdev), "minor": os.minor(seen.st_rdev),
                "mode": f"{stat.S_IMODE(seen.st_mode):04o}"}

    def run(self, argv: list[str], timeout: float, recorded: str | None = None, complete: str | None = None) -> Reading:
        """Run a program and return its standard output; for a recorded host, read `recorded/<recorded or program.txt>`.

        Output that contains `complete` is complete, and is used whatever the exit status.

        A missing program is `absent`; one that fails, or still runs after `timeout` seconds, is `unparsable` with the
        reason as detail. It runs with a clean environment, without input and without a shell.
        """
        if not self.live:
            name = recorded or f"{os.path.basename(argv[0])}.txt"
            failed = self.failures.get(f"/recorded/{name}")
            return Reading(failed[0], None, failed[1]) if isinstance(failed, list) else self.recorded(name)
        result = run_program(argv, timeout)
        if result is None:
            return Reading(ABSENT, None, f"{argv[0]} is not installed")
        if result.problem and not (complete and complete in result.stdout):
            return Reading(UNPARSABLE, None, result.problem)
        return ok(result.stdout)
