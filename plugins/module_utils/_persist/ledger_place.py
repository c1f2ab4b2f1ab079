# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The ledger's place: its folders are created and removed together with it, each in one step.

Without the ledger it is unknown what was created, so a run killed before or after its lifetime must leave nothing.
"""
from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from .files import Files, split, temporary, unlink, write_new
from .folders import MODE, InTheWay, missing, opened
from .paths import LEDGER

_PARTS = LEDGER.strip("/").split("/")       # the folders and the file


def put_ledger(files: Files, data: bytes) -> None:
    """Write the ledger. Raises OSError, InTheWay."""
    files.host.require_writable()
    folders = missing(files.host, split(LEDGER)[0])
    if not folders:
        files.put(LEDGER, data)
        return
    # The folders are created under a temporary name, with the ledger in them.
    depth = len(_PARTS) - 1 - len(folders)
    with opened(files.host, "/".join(["", *_PARTS[:depth]])) as above:
        aside = temporary(_PARTS[depth])
        _make(above, [aside, *_PARTS[depth + 1:]], data)
        os.rename(aside, _PARTS[depth], src_dir_fd=above, dst_dir_fd=above)
        os.fsync(above)


def remove_ledger(files: Files, ours: Iterable[str]) -> None:
    """Remove it with those of its folders that are in `ours` and otherwise empty. Raises OSError, InTheWay."""
    files.host.require_writable()
    depth = _outermost(files, set(ours))
    if depth is None:
        files.remove(LEDGER)
        return
    with opened(files.host, "/".join(["", *_PARTS[:depth]])) as above:
        aside = temporary(_PARTS[depth])
        os.rename(_PARTS[depth], aside, src_dir_fd=above, dst_dir_fd=above)
        os.fsync(above)
        _clear(above, [aside, *_PARTS[depth + 1:]])


def sweep_ledger(files: Files, only_look: bool = False) -> bool:
    """Remove the temporary folders that a killed run left; return whether there were any."""
    found = False
    for depth in range(len(_PARTS) - 1):
        try:
            with opened(files.host, "/".join(["", *_PARTS[:depth]])) as above:
                aside = temporary(_PARTS[depth])
                if aside in os.listdir(above):
                    found = True
                    if not only_look:
                        files.host.require_writable()
                        _clear(above, [aside, *_PARTS[depth + 1:]])
        except (FileNotFoundError, InTheWay):
            break
    return found


def _outermost(files: Files, ours: set[str]) -> int | None:
    """Return the index in _PARTS of the outermost folder that may be removed."""
    found = None
    for depth in range(len(_PARTS) - 2, -1, -1):
        path = "/".join(["", *_PARTS[:depth + 1]])
        if path not in ours:
            break
        with opened(files.host, path) as folder:
            if os.listdir(folder) != [_PARTS[depth + 1]]:
                break
        found = depth
    return found


def _make(above: int, parts: list[str], data: bytes) -> None:
    """Create the folders and the file that `parts` name in `above`."""
    _clear(above, parts)
    if len(parts) == 1:
        write_new(above, parts[0], data)
        return
    os.mkdir(parts[0], MODE, dir_fd=above)
    here = os.open(parts[0], os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    try:
        os.fchmod(here, MODE)
        _make(here, parts[1:], data)
        os.fsync(here)
    finally:
        os.close(here)


def _clear(above: int, parts: list[str]) -> None:
    """Remove what `parts` name in `above`, as far as it exists, and nothing else in these folders."""
    try:
        seen = os.stat(parts[0], dir_fd=above, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(seen.st_mode):
        unlink(above, parts[0])
        return
    here = os.open(parts[0], os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    try:
        if len(parts) > 1:
            _clear(here, parts[1:])
    finally:
        os.close(here)
    os.rmdir(parts[0], dir_fd=above)
