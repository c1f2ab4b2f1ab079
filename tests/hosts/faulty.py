# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A planted host whose kernel refuses, clamps or ignores writes, or changes other files too, and that counts writes."""
from __future__ import annotations

import os
from typing import Callable

from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host


class FaultyHost(Host):
    """`faults`: errno by path. `effects`: by path, the function that is called in place of writing.

    `writes` are the paths and bytes of every attempted write, in order.
    """

    def __init__(self, sysroot: str) -> None:
        super().__init__(sysroot)
        self.writes: list[tuple[str, bytes]] = []
        self.faults: dict[str, int] = {}
        self.read_faults: dict[str, int] = {}
        self.effects: dict[str, Callable[[bytes], None]] = {}

    def _write(self, path: str, data: bytes, flags: int, offset: int) -> None:
        self.writes.append((path, data))
        if path in self.faults:
            raise OSError(self.faults[path], os.strerror(self.faults[path]))
        if path in self.effects:
            self.effects[path](data)
        else:
            super()._write(path, data, flags, offset)

    def read_bytes(self, path: str, limit: int = 1 << 22) -> bytes:
        if path in self.read_faults:
            raise OSError(self.read_faults[path], os.strerror(self.read_faults[path]))
        return super().read_bytes(path, limit)

    def put(self, path: str, text: str) -> None:
        """A change of a file by the kernel itself."""
        with open(self.local(path), "w", encoding="utf-8") as file:
            file.write(text + "\n")

    def ignore(self, path: str) -> None:
        """Writes to `path` succeed without effect."""
        self.effects[path] = lambda data: None

    def clamp(self, path: str, highest: int) -> None:
        """Numbers above `highest` become `highest`, without an error."""
        self.effects[path] = lambda data: self.put(path, str(min(int(data), highest)))

    def exclusive(self, ratio: str, face: str, always: bool = False) -> None:
        """A pair of files, each set to 0 by a write to the other; by the ratio only if it changes, or `always`.

        Writing zero to `face` is EINVAL, as in dirty_bytes_handler() in mm/page-writeback.c.
        """
        def write_ratio(data: bytes) -> None:
            if always or int(data) != int(self.read(ratio).value):
                self.put(face, "0")
            self.put(ratio, str(int(data)))

        def write_face(data: bytes) -> None:
            if int(data) == 0:
                raise OSError(22, "Invalid argument")
            self.put(ratio, "0")
            self.put(face, str(int(data)))

        self.effects[ratio], self.effects[face] = write_ratio, write_face
