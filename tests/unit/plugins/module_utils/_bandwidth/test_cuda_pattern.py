# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ctypes

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.cuda_pattern import (
    BLOCK,
    blocks,
    find_difference,
    write_pattern,
)


def pattern(sender, size):
    return b"".join(block for _offset, block in blocks(sender, size))


@pytest.fixture
def memory():
    """The pattern twice."""
    buffers = [ctypes.create_string_buffer(2 * BLOCK + 4096) for _number in range(2)]
    for buffer in buffers:
        write_pattern(ctypes.addressof(buffer), 7, len(buffer) - 1)
    return buffers


def difference(memory, size):
    return find_difference(*map(ctypes.addressof, memory), size)


def test_what_was_written_is_what_is_expected(memory):
    assert memory[0].raw[:-1] == pattern(7, 2 * BLOCK + 4096)[:-1]
    assert difference(memory, len(memory[0]) - 1)["wrong_bytes"] == 0


@pytest.mark.parametrize("size", [4096, BLOCK, BLOCK + 4096, 3 * BLOCK])
def test_it_has_exactly_the_size(size):
    assert len(pattern(1, size)) == size


def test_no_two_places_hold_the_same_word():
    """4 MiB of one sender: data that arrives at another place is wrong data."""
    words = memoryview(pattern(3, 4 * BLOCK)).cast("I")
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("other", [2, 4, ~3, (1 << 16) + (2 << 8) + 1])
def test_no_place_holds_the_word_of_another_sender(other):
    """Not one word in the same place, whoever else sent it."""
    mine, theirs = (memoryview(pattern(sender, 2 * BLOCK)).cast("I") for sender in (3, other))
    assert not any(one == two for one, two in zip(mine, theirs))


def test_the_first_wrong_byte_and_how_many(memory):
    for offset in (BLOCK + 5, BLOCK + 6, 2 * BLOCK + 1):
        memory[0][offset] = bytes([memory[0][offset][0] ^ 0x80])
    assert difference(memory, 2 * BLOCK + 4095) == {
        "first_offset": BLOCK + 5, "wrong_bytes": 3, "bytes": 2 * BLOCK + 4095}


def test_memory_that_was_never_written_is_wrong(memory):
    ctypes.memset(memory[0], 0xA5, len(memory[0]))
    found = difference(memory, 4096)
    assert found["first_offset"] < 4
    assert found["wrong_bytes"] > 4000
