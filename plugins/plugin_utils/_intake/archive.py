# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Unpack an archive with a recorded host; archives are untrusted input, whatever their source.

Only files, folders and links that stay inside are unpacked; if the archive has anything else, or exceeds a limit, the
folder is removed. tools/unpack.py runs this file without Ansible: it imports nothing of this collection.

(tarfile's data filter turns mode 0444 into 0644, but the mode shows whether a setting is writable.)
"""
from __future__ import annotations

import gzip
import os
import pathlib
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

MARKER = ".gpuhost-sysroot"
STREAM_LIMIT = 160 << 20    # bytes unpacked, including headers and padding; a recording has at most 64 MiB of files
MEMBER_LIMIT = 50_000       # an audit of a host with 256 CPUs and 8 GPUs reads about 15,000 files and folders
DEPTH_LIMIT = 40            # nested folders; sysfs has about 15 levels
LENGTH_LIMIT = 4000         # of a name or a link
TIME_LIMIT = (1 << 32) - 1  # seconds since 1970


class Refused(Exception):
    """The archive is not a valid recording; the message says why."""


class Limited:
    """A stream that raises an error after `limit` bytes: a small archive can contain any number of zeros."""

    def __init__(self, stream: BinaryIO | gzip.GzipFile, limit: int | None = None) -> None:
        self._stream = stream
        self._limit = self._left = STREAM_LIMIT if limit is None else limit

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise Refused(f"it unpacks to more than {self._limit} bytes")
        return data


def unpack(archive: pathlib.Path, folder: pathlib.Path, writable: bool = False) -> int:
    """Unpack `archive` to `folder`, which must not exist; return the number of files. Raises Refused and OSError."""
    if folder.exists() or folder.is_symlink():
        raise Refused(f"{folder} is there already")
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        count = _unpack_into(archive, work)
        if writable:
            (work / MARKER).touch()
        work.chmod(0o755)
        work.rename(folder)
    except BaseException:
        shutil.rmtree(work)
        raise
    return count


def _unpack_into(archive: pathlib.Path, work: pathlib.Path) -> int:
    links: dict[pathlib.Path, str] = {}
    count = 0
    try:
        # Validate everything first: removing a tree of a million folders takes long.
        for member, _members in _members_of(archive):
            count += 1
            if count > MEMBER_LIMIT:
                raise Refused(f"it has more than {MEMBER_LIMIT} members")
            _steps(member.name)
        for member, members in _members_of(archive):
            _take(member, members, work, links)
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, ValueError, OverflowError) as error:
        raise Refused(f"it is not a gzipped tar: {error}") from error
    # Create links last, so that nothing is written through them.
    for path, text in links.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(text, path)
    return count


def _members_of(archive: pathlib.Path) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    with gzip.open(archive) as stream, tarfile.open(fileobj=Limited(stream), mode="r|") as members:
        for member in members:
            yield member, members


def _take(member: tarfile.TarInfo, members: tarfile.TarFile, work: pathlib.Path, links: dict) -> None:
    steps = _steps(member.name)
    path = work.joinpath(*steps)
    if path in links or any(parent in links for parent in path.parents):
        raise Refused(f"{member.name!r} is a link already, or lies below one")
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
    elif member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse() and steps:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            shutil.copyfileobj(members.extractfile(member), file)
            # Modes such as 0444 and 0644 show what is writable; the owner must be able to read.
            os.fchmod(file.fileno(), member.mode & 0o777 | 0o400)
            file.flush()
            seconds = min(max(int(member.mtime), 0), TIME_LIMIT)
            os.utime(file.fileno(), (seconds, seconds))
    elif member.issym() and steps:
        if os.path.lexists(path):
            raise Refused(f"{member.name!r} is in it twice")
        links[path] = _link(member, steps)
    else:
        raise Refused(f"{member.name!r} is neither a file nor a folder nor a symbolic link")


def _steps(name: str) -> list[str]:
    """The components of a member's name, empty for the folder itself."""
    steps = [step for step in name.split("/") if step not in ("", ".")]
    if name.startswith("/") or ".." in steps or "\0" in name or len(name) > LENGTH_LIMIT:
        raise Refused(f"{name[:200]!r} is not a name inside of the folder")
    if len(steps) > DEPTH_LIMIT:
        raise Refused(f"{name[:200]!r} lies in {len(steps) - 1} folders, more than {DEPTH_LIMIT}")
    return steps


def _link(member: tarfile.TarInfo, steps: list[str]) -> str:
    """The text of a link that stays inside whatever other links do: `..` only at its start, not above the folder."""
    target = member.linkname.split("/")
    climbs = next((number for number, step in enumerate(target) if step != ".."), len(target))
    if (not member.linkname or member.linkname.startswith("/") or "\0" in member.linkname
            or len(member.linkname) > LENGTH_LIMIT or climbs > len(steps) - 1 or ".." in target[climbs:]):
        raise Refused(f"the link {member.name!r} leads out of the folder: {member.linkname[:200]!r}")
    return member.linkname
