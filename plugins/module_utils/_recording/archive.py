# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Archive of what a Recorder noted; once unpacked, the folder answers like the recorded host.

Its links are relative and stay inside. The original text of a link that leads out is in recorded/answers.json.
"""
from __future__ import annotations

import io
import json
import tarfile
from typing import Callable

from .._host.sysroot import ANSWERS, MARKER
from .._redaction.files import redact_file
from .._redaction.text import redact
from .notes import FILE, FOLDER, Notes, inside
from .pseudonyms import Pseudonyms

SCHEMA = "gpuhost.recording/1"
ABOUT = "recorded/recording.json"
NODES = "recorded/dev.json"
Rename = Callable[[str], str]
Member = tuple[tarfile.TarInfo, bytes]


class TooLarge(ValueError):
    """The archive would exceed its limit; the message names the largest files."""


def make_archive(notes: Notes, about: dict, *, limit: int, anonymise: bool = False, writable: bool = False,
                 key: int = 0) -> bytes:
    """Make a gzipped tar of at most `limit` bytes of files; pseudonyms are numbered from `key`. Raises TooLarge."""
    data = {path: redact_file(path, read) for path, read in notes.data.items()}
    require_small(data, limit)
    names = Pseudonyms(data, notes.kinds, key) if anonymise else None
    if names is not None:
        data = {path: names.data(path, read) for path, read in data.items()}
    rename: Rename = names.path if names else str
    reword: Rename = (lambda text: redact(names.text(text))) if names else redact
    links = {rename(path): reword(text) for path, text in notes.links.items()}
    relative = {path: inside(path, text) for path, text in links.items()}
    shown = {rename(path) for path in notes.shown}
    answers = {
        "failures": {rename(path): answer if isinstance(answer, int) else [answer[0], reword(answer[1])]
                     for path, answer in notes.failures.items()},
        "links": {path: text for path, text in links.items() if path in shown and relative[path] != text},
    }
    return _pack([
        *(_folder(rename(path), notes.modes.get(path, 0o755))
          for path in sorted(path for path, kind in notes.kinds.items() if kind == FOLDER and path != "/")),
        *(_file(rename(path), data.get(path, b""), notes.modes.get(path, 0o644), notes.times.get(path, 0))
          for path in sorted(path for path, kind in notes.kinds.items() if kind == FILE)),
        _json(ABOUT, {"schema": SCHEMA, "anonymised": anonymise, **about}),
        _json(ANSWERS, answers),
        *([_json(NODES, notes.nodes)] if notes.live else []),
        *([_file(MARKER, b"")] if writable else []),
        *(_link(path, relative[path]) for path in sorted(relative)),
    ])


def require_small(data: dict[str, bytes], limit: int) -> None:
    total = sum(map(len, data.values()))
    if total > limit:
        largest = sorted(data, key=lambda path: -len(data[path]))[:5]
        named = ", ".join(f"{path} ({len(data[path])} bytes)" for path in largest)
        raise TooLarge(f"{total} bytes were read, {limit} are allowed; the largest files are {named}")


def _pack(members: list[Member]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=6, format=tarfile.PAX_FORMAT) as archive:
        for member, data in members:
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _member(path: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path.strip("/"))
    member.type, member.mode = kind, mode & 0o777
    return member


def _folder(path: str, mode: int) -> Member:
    return _member(path, tarfile.DIRTYPE, mode), b""


def _file(path: str, data: bytes, mode: int = 0o644, time: int = 0) -> Member:
    member = _member(path, tarfile.REGTYPE, mode)
    member.size, member.mtime = len(data), time
    return member, data


def _json(path: str, content: dict) -> Member:
    return _file(path, json.dumps(content, indent=1).encode() + b"\n")


def _link(path: str, text: str) -> Member:
    member = _member(path, tarfile.SYMTYPE, 0o777)
    member.linkname = text
    return member, b""
