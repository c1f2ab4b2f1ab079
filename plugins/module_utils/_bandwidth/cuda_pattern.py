# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The test pattern that is copied to verify transfers: words that depend on position and sender.

Runs in the measuring child: imports only the standard library.
"""
from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Iterator

BLOCK = 1 << 20         # bytes generated at a time
_WORD = 4
_MASK = 0xFFFFFFFF
# Odd numbers with well-spread bits: adjacent senders and positions get very different words.
_SPREAD_SENDER, _SPREAD_BLOCK = 0x9E3779B1, 0x85EBCA6B

_places = int.from_bytes(array("I", range(BLOCK // _WORD)).tobytes(), sys.byteorder)
_everywhere = int.from_bytes((1).to_bytes(_WORD, sys.byteorder) * (BLOCK // _WORD), sys.byteorder)


def blocks(sender: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield `(offset, bytes)` of the pattern of `sender`, a number; `size` is in bytes.

    A word is its position in the block, XORed with a number derived from block and sender.
    """
    for number, offset in enumerate(range(0, size, BLOCK)):
        key = (sender * _SPREAD_SENDER + number * _SPREAD_BLOCK) & _MASK
        block = (_places ^ (key * _everywhere)).to_bytes(BLOCK, sys.byteorder)
        yield offset, block[:size - offset]


def write_pattern(address: int, sender: int, size: int) -> None:
    for offset, block in blocks(sender, size):
        ctypes.memmove(address + offset, block, len(block))


def find_difference(address: int, pattern: int, size: int) -> dict:
    """`{first_offset, wrong_bytes, bytes}` of memory at `address` that differs from `size` bytes of the pattern."""
    first, wrong = 0, 0
    for offset in range(0, size, BLOCK):
        length = min(BLOCK, size - offset)
        found, wanted = ctypes.string_at(address + offset, length), ctypes.string_at(pattern + offset, length)
        if found != wanted:
            differing = _exclusive_or(found, wanted)
            if wrong == 0:
                first = offset + len(differing) - len(differing.lstrip(b"\0"))
            wrong += len(differing) - differing.count(0)
    return {"first_offset": first, "wrong_bytes": wrong, "bytes": size}


def _exclusive_or(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one, "little") ^ int.from_bytes(other, "little")).to_bytes(len(one), "little")
