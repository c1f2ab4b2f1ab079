# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The lines of a posted text: plain or compressed, truncated, with foreign line ends, of any size."""
from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import pathlib
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from .recorded_host import Refused

STREAM_LIMIT = 512 << 20        # bytes unpacked; the largest report seen has 15 MiB
LINE_LIMIT = 1 << 20            # bytes; a longer line is not part of a report, and is truncated
GZIP, XZ, BZIP2 = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh"
_BROKEN = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)


class Lines:
    """Iterate over the lines without line ends; afterwards `cut` says why the end is missing, None if complete.

    Memory is bounded by LINE_LIMIT. Raises Refused for more than STREAM_LIMIT bytes, OSError for a file that cannot
    be read.
    """

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.cut: str | None = None
        self.number = 0             # of the last line returned, from 1

    def __iter__(self) -> Iterator[str]:
        with open_stream(self.path) as stream:
            wide = self._start(stream)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            for text in self._wide(stream) if wide else self._narrow(stream):
                self.number += 1
                yield text

    def _start(self, stream: Any) -> bytes:
        try:
            return stream.peek(4)
        except _BROKEN:
            return b""          # reading will report it

    def _narrow(self, stream: BinaryIO) -> Iterator[str]:
        left = STREAM_LIMIT
        continued, first = False, True
        while line := self._read(stream, LINE_LIMIT, line=True):
            left -= len(line)
            _check_size(left)
            if not continued:
                yield line.decode("utf-8-sig" if first else "utf-8", "replace").rstrip("\r\n")
            continued, first = not line.endswith(b"\n"), False

    def _wide(self, stream: BinaryIO) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-16")("replace")
        left, rest = STREAM_LIMIT, ""
        while True:
            block = self._read(stream, 1 << 16)
            left -= len(block)
            _check_size(left)
            *whole, rest = (rest + decoder.decode(block, not block)).split("\n")
            yield from (line.rstrip("\r") for line in whole)
            rest = rest[:LINE_LIMIT]
            if not block:
                if rest:
                    yield rest
                return

    def _read(self, stream: BinaryIO, size: int, line: bool = False) -> bytes:
        try:
            return stream.readline(size) if line else stream.read(size)
        except _BROKEN as error:
            self.cut = f"the file ends too early or is damaged ({error})"
            return b""


def _check_size(left: int) -> None:
    if left < 0:
        raise Refused(f"it unpacks to more than {STREAM_LIMIT >> 20} MiB: wanted the report of one machine")


def open_stream(path: pathlib.Path) -> Any:
    """The file's bytes, decompressed if necessary, whatever its name. Raises OSError."""
    with open(path, "rb") as file:
        start = file.read(6)
    if start.startswith(GZIP):
        return gzip.open(path)
    if start.startswith(XZ):
        return lzma.open(path)
    if start.startswith(BZIP2):
        return bz2.open(path)
    return open(path, "rb")


def peek(path: pathlib.Path, size: int = 1 << 16) -> bytes:
    """The first bytes of open_stream(), fewer if it is damaged."""
    start = b""
    with open_stream(path) as stream:
        try:
            while len(start) < size and (piece := stream.read1(size - len(start))):
                start += piece
        except _BROKEN:
            pass
    return start
