# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is kept of a pipe, and that nobody waits for whoever holds it open."""
from __future__ import annotations

import os
import time

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.pipe import Drain


@pytest.fixture
def pipe():
    """`(reading end as a file, writing end)`."""
    reading, writing = os.pipe()
    with open(reading, "rb") as file:
        yield file, writing


def drained(pipe, pieces, head, tail):
    drain = Drain(pipe[0], head, tail)
    for piece in pieces:
        os.write(pipe[1], piece)
        time.sleep(0.01)
    os.close(pipe[1])
    return drain.text(5), drain.left_out


@pytest.mark.parametrize(("pieces", "head", "tail", "text", "left_out"), [
    ([b"abc"], 10, 10, "abc", 0),
    ([b"abcdefgh"], 5, 3, "abcdefgh", 0),
    ([b"abcdefghi"], 5, 3, "abcde\n[... 1 bytes left out ...]\nghi", 1),
    ([b"abc", b"def", b"ghi", b"jkl"], 4, 2, "abcd\n[... 6 bytes left out ...]\nkl", 6),
    ([b"abc", b"def"], 4, 0, "abcd", 2),
    ([b"\xff\xfe"], 4, 0, "\ufffd\ufffd", 0),
    ([], 4, 4, "", 0),
])
def test_start_and_end_are_kept(pipe, pieces, head, tail, text, left_out):
    assert drained(pipe, pieces, head, tail) == (text, left_out)


def test_a_large_output_takes_no_more_than_it_may(pipe):
    block = b"0123456789abcdef" * 1024
    text, left_out = drained(pipe, [block] * 60, 1000, 1000)
    assert left_out == 60 * len(block) - 2000
    assert text.startswith("0123456789")
    assert text.endswith("abcdef")


def test_it_does_not_wait_for_a_pipe_that_stays_open(pipe):
    drain = Drain(pipe[0], 100)
    os.write(pipe[1], b"so far")
    begin = time.monotonic()
    assert drain.text(0.3) == "so far"
    assert time.monotonic() - begin < 20
    os.close(pipe[1])
