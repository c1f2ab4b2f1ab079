# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files as people post them: packed in pieces, cut, of other systems, and too large."""
from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake import lines as lines_module
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.lines import Lines, peek
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.recorded_host import Refused

TEXT = "one\ntwo\n\nfour \u00e4\n"
WANTED = ["one", "two", "", "four \u00e4"]


def read(tmp_path, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    lines = Lines(path)
    return list(lines), lines


@pytest.mark.parametrize("data", [
    TEXT.encode(), gzip.compress(TEXT.encode()), lzma.compress(TEXT.encode()), bz2.compress(TEXT.encode()),
    gzip.compress(TEXT[:5].encode()) + gzip.compress(TEXT[5:].encode()),
    TEXT.replace("\n", "\r\n").encode(), TEXT.encode("utf-8-sig"), TEXT.encode("utf-16"), TEXT.encode("utf-16-le")
    .join((b"\xff\xfe", b"")), TEXT.rstrip("\n").encode(),
], ids=["plain", "gzip", "xz", "bzip2", "members", "crlf", "bom", "utf-16", "utf-16-le", "no last end"])
def test_the_same_lines_whatever_the_packing(tmp_path, data):
    found, lines = read(tmp_path, data)
    assert (found, lines.cut, lines.number) == (WANTED, None, 4)


def test_a_gzip_that_ends_early_is_read_as_far_as_it_goes(tmp_path):
    text = "".join(f"line {number} {number * 7919}\n" for number in range(20_000))
    data = gzip.compress(text.encode())
    found, lines = read(tmp_path, data[:len(data) // 2])
    assert 1000 < len(found) < 20_000
    assert found[:1000] == text.splitlines()[:1000]
    assert lines.cut.startswith("the file ends too early or is damaged")


@pytest.mark.parametrize("tail", [b"garbage behind the end", b"\x1f\x8b\x08garbage"])
def test_what_stands_behind_a_gzip_is_said(tmp_path, tail):
    found, lines = read(tmp_path, gzip.compress(TEXT.encode()) + tail)
    assert found[:4] == WANTED
    assert lines.cut is not None


def test_bytes_that_are_no_text_do_not_stop_it(tmp_path):
    found, _lines = read(tmp_path, b"ok\n\xff\xfe\x00\x80\nend\n")
    assert (found[0], found[-1]) == ("ok", "end")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_bomb_is_refused_without_being_held(tmp_path, monkeypatch, pack):
    """Zeros without a line's end, a thousand times what the file has."""
    monkeypatch.setattr(lines_module, "STREAM_LIMIT", 8 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(pack(bytes(32 << 20)))
    tracemalloc.start()
    try:
        with pytest.raises(Refused, match="unpacks to more than 8 MiB"):
            list(Lines(path))
        # xz itself needs a dictionary of 8 MiB.
        assert tracemalloc.get_traced_memory()[1] < (6 if pack is gzip.compress else 16) << 20
    finally:
        tracemalloc.stop()


def test_a_line_without_end_is_cut(tmp_path):
    found, _lines = read(tmp_path, b"x" * (3 << 20) + b"\nnext\n")
    assert [len(line) for line in found] == [1 << 20, 4]


def test_the_start_of_a_damaged_file(tmp_path):
    path = tmp_path / "bad.gz"
    path.write_bytes(b"\x1f\x8b\x08\x00 no gzip at all")
    assert peek(path) == b""
