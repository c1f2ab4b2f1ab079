# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What the numbers mean by which NVIDIA's driver reports errors, and whom each one concerns.

Numbers and their classes are those of NVIDIA's "XID Errors" (docs.nvidia.com/deploy/xid-errors, the listing and the
catalog), the words are ours. One number can have several causes; the class is the one to look for first.
"""
from __future__ import annotations

from typing import Any

from .reading import value

DEVICE, DRIVER, PROGRAM = "device", "driver", "program"

# The GPU, its memory, links or firmware: it wants a reset, a repair or a look at the board.
_DEVICE = {
    48: "an uncorrectable error in its memory (double bit ECC)",
    54: "its auxiliary power is not connected",
    58: "the interface to its memory is unstable",
    62: "its internal microcontroller halted",
    63: "a row or page of its memory was given up and is replaced at the next reset",
    64: "a row or page of its memory could not be replaced",
    74: "an error of NVLink",
    79: "it has fallen off the bus",
    92: "many correctable errors in its memory",
    94: "an uncorrectable error in its memory, contained: only the program that met it ended",
    95: "an uncorrectable error in its memory, not contained: all programs on it are affected",
    110: "a security fault",
    119: "its firmware (GSP) did not answer in time",
    120: "its firmware (GSP) stopped with an error",
    136: "training of an NVLink failed",
    140: "an uncorrectable error in its memory that was not recovered",
    143: "its initialisation failed",
    **dict.fromkeys(range(144, 151), "an error of NVLink"),
    154: "the driver wants it reset or the host rebooted",
    155: "an error of NVLink",
    156: "a part of it was retired",
    157: "a part of it could not be retired",
    158: "it did not answer in time, fatally",
    160: "a channel of its memory was retired",
    161: "a channel of its memory could not be retired",
    167: "PCI Express did not answer in time, fatally",
    171: "an uncorrectable error in its memory (DRAM)",
    172: "an uncorrectable error in its memory (SRAM)",
}
# The driver, or how it was built and configured: another version, or a report to NVIDIA.
_DRIVER = {
    32: "an invalid or corrupted push buffer",
    38: "an error of the driver's firmware",
    42: "an exception of the video processor",
    46: "the GPU stopped processing",
    56: "an error of the display engine",
    57: "the interface to the memory was set up wrongly",
    59: "an error of an internal microcontroller",
    61: "a breakpoint of an internal microcontroller",
    66: "an illegal access by the driver",
    109: "a context did not switch in time",
}
# The program that ran: its own mistake, or it was ended.
_PROGRAM = {
    8: "a channel stood still for too long",
    11: "an invalid or corrupted command of a program",
    13: "an exception of the compute engine, mostly an access out of bounds",
    31: "an access of a program to memory that is not mapped",
    43: "a program's channel was reset after an error of its own",
    45: "a program's channels were taken down, mostly because it ended",
    68: "an exception of a video decoder",
    69: "a command of a program that the engine does not know",
}
_KINDS = ((DEVICE, _DEVICE), (DRIVER, _DRIVER), (PROGRAM, _PROGRAM))
DEVICE_XIDS = frozenset(_DEVICE)
_RECOVERED = "(None)"       # 154 also says when nothing is wanted any more: "changed from 0x1 (...) to 0x0 (None)"


def meaning(number: int) -> tuple[str, str]:
    """The class of an Xid and what it means; one that is not in the tables is a program's until somebody knows more."""
    for kind, table in _KINDS:
        if number in table:
            return kind, table[number]
    return PROGRAM, "see docs.nvidia.com/deploy/xid-errors"


def xids_by_device(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """`[{bdf, device, driver, program}]`: the Xids of this boot on every NVIDIA GPU, in sentences.

    The driver names a GPU without its function. An address without a GPU is listed too: it may have left the bus.
    """
    own = {gpu["bdf"].rpartition(".")[0]: gpu["bdf"] for gpu in facts["gpus"]
           if gpu["vendor"] == "10de" and not gpu["virtual_function"]}
    logged = [xid for xid in value(facts["nvidia"]["xids"]) or []
              if not (xid["xid"] == 154 and xid["text"].rstrip(" .").endswith(_RECOVERED))]
    found = {address: {kind: {} for kind, _table in _KINDS} for address in [*own, *(xid["bdf"] for xid in logged)]}
    for xid in logged:
        kind, _words = meaning(xid["xid"])
        counts = found[xid["bdf"]][kind]
        counts[xid["xid"]] = counts.get(xid["xid"], 0) + 1
    return [{"bdf": own.get(address, address), **{kind: [_sentence(*counted) for counted in sorted(counts.items())]
                                                  for kind, counts in kinds.items()}}
            for address, kinds in found.items()]


def _sentence(number: int, times: int) -> str:
    return f"Xid {number}{f', {times} times' if times > 1 else ''}: {meaning(number)[1]}"
