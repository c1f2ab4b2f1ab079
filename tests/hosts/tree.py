# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A planted host: a folder that mirrors a machine's file system, written by a test.

It does not imitate a kernel: files accept any text. Kernel behaviour is tested on real kernels.
"""
from __future__ import annotations

import calendar
import datetime
import json
import os
import pathlib

MARKER = ".gpuhost-sysroot"


class Tree:
    """Writes files, links and device nodes of a host below `root`. Paths are the host's (`/proc/cmdline`)."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = pathlib.Path(root)
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / MARKER).touch()
        for folder in ("etc", "proc", "sys"):       # present on every host
            (self.root / folder).mkdir(exist_ok=True)
        self._nodes: dict[str, dict] = {}

    def path(self, path: str) -> pathlib.Path:
        """The path on this machine of the host's `path`."""
        return self.root / path.lstrip("/")

    def file(self, path: str, content: str | bytes | int = "", mode: int | None = None) -> Tree:
        """A file; text gets the trailing newline of a kernel file, bytes are written unchanged."""
        here = self.path(path)
        here.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            here.write_bytes(content)
        else:
            text = str(content)
            here.write_text(text if not text or text.endswith("\n") else text + "\n")
        if mode is not None:
            here.chmod(mode)
        return self

    def files(self, folder: str, contents: dict[str, str | bytes | int]) -> Tree:
        """Several files of one folder."""
        for name, content in contents.items():
            self.file(f"{folder}/{name}", content)
        return self

    def made(self, path: str, time: str) -> Tree:
        """Set the modification time of a file or folder, `2026-11-29T18:30:00Z`."""
        seconds = calendar.timegm(datetime.datetime.fromisoformat(time.removesuffix("Z")).timetuple())
        os.utime(self.path(path), (seconds, seconds))
        return self

    def folder(self, path: str) -> Tree:
        self.path(path).mkdir(parents=True, exist_ok=True)
        return self

    def link(self, path: str, target: str) -> Tree:
        """A symbolic link with the text `target`, relative as in sysfs or absolute from the host's root."""
        here = self.path(path)
        here.parent.mkdir(parents=True, exist_ok=True)
        if here.is_symlink():
            here.unlink()
        here.symlink_to(target)
        return self

    def remove(self, path: str) -> Tree:
        self.path(path).unlink()
        return self

    def sysctl(self, key: str, value: str | int) -> Tree:
        """A file below /proc/sys; `key` in dotted form."""
        return self.file("/proc/sys/" + key.replace(".", "/"), value)

    def device(self, path: str, major: int, minor: int, mode: str = "0666", kind: str = "c") -> Tree:
        """A device node, recorded in `recorded/dev.json` as a plain folder cannot hold one."""
        self._nodes[path] = {"type": kind, "major": major, "minor": minor, "mode": mode}
        return self.file("/recorded/dev.json", json.dumps(self._nodes, indent=1))

    def kernel_log(self, text: str) -> Tree:
        return self.file("/recorded/kmsg.txt", text)

    def program(self, name: str, output: str) -> Tree:
        """The output of a program, as `recorded/<name>`."""
        return self.file(f"/recorded/{name}", output)
