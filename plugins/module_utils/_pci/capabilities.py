# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Locate the capabilities in the bytes of a PCI config space. Pure functions without access to a host.

Constants are named as in include/uapi/linux/pci_regs.h. Every walk ends, whatever the bytes are.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Callable

PCI_CFG_SPACE_SIZE = 256
PCI_CFG_SPACE_EXP_SIZE = 4096
PCI_STD_HEADER_SIZEOF = 64

PCI_VENDOR_ID = 0x00
PCI_STATUS = 0x06
PCI_STATUS_CAP_LIST = 0x10
PCI_HEADER_TYPE = 0x0E
PCI_HEADER_TYPE_CARDBUS = 2
PCI_CAPABILITY_LIST = 0x34
PCI_CB_CAPABILITY_LIST = 0x14
PCI_CAP_LIST_NEXT = 1

PCI_CAP_ID_NULL = 0x00      # only a link; GA100 has its MSI capability after one
PCI_CAP_ID_EXP = 0x10

PCI_EXT_CAP_ID_ACS = 0x0D
PCI_EXT_CAP_ID_REBAR = 0x15


def read_u16(config: bytes, offset: int) -> int | None:
    """Read two bytes, little-endian; None beyond the end."""
    piece = config[offset:offset + 2]
    return int.from_bytes(piece, "little") if len(piece) == 2 else None


def read_u32(config: bytes, offset: int) -> int | None:
    piece = config[offset:offset + 4]
    return int.from_bytes(piece, "little") if len(piece) == 4 else None


def is_gone(config: bytes) -> bool:
    """Whether the device does not respond: all ones, which no device has in its Status register.

    The vendor id alone does not tell: a virtual function's is 0xffff too (SR-IOV specification, 3.4.1.1; the kernel
    asks its physical function instead, pci_device_is_present() in drivers/pci/pci.c).
    """
    return read_u16(config, PCI_VENDOR_ID) == 0xFFFF and read_u16(config, PCI_STATUS) in (0xFFFF, None)


def walk_capabilities(config: bytes) -> Iterator[tuple[int, int]]:
    """Yield `(id, offset)` of each capability in the first 256 bytes, in the order of the list.

    The list ends at a link below 0x40, at an id of 0xff, at the end of the bytes, and at a loop.
    """
    status = read_u16(config, PCI_STATUS)
    if status is None or not status & PCI_STATUS_CAP_LIST or is_gone(config):
        return
    config = config[:PCI_CFG_SPACE_SIZE]
    header_type = config[PCI_HEADER_TYPE:PCI_HEADER_TYPE + 1]
    cardbus = bool(header_type) and header_type[0] & 0x7F == PCI_HEADER_TYPE_CARDBUS
    link = PCI_CB_CAPABILITY_LIST if cardbus else PCI_CAPABILITY_LIST
    seen = set()
    while link < len(config):
        offset = config[link] & 0xFC        # the two lowest bits are reserved
        if offset < PCI_STD_HEADER_SIZEOF or offset in seen or offset >= len(config) or config[offset] == 0xFF:
            return
        seen.add(offset)
        if config[offset] != PCI_CAP_ID_NULL:
            yield config[offset], offset
        link = offset + PCI_CAP_LIST_NEXT


def find_capability(config: bytes, wanted: int) -> int | None:
    """Return the offset of the first capability with the id `wanted`."""
    return next((offset for number, offset in walk_capabilities(config) if number == wanted), None)


def find_pcie_capability(config: bytes) -> int | None:
    """Return the offset of the PCI Express capability, None for a device without one. It differs between devices."""
    return find_capability(config, PCI_CAP_ID_EXP)


def walk_extended_capabilities(header_at: Callable[[int], int | None]) -> Iterator[tuple[int, int]]:
    """Yield `(id, offset)` of each extended capability; `header_at(offset)` returns 32 bits, None beyond the end.

    The list starts at 0x100. It ends at a link below that, at an empty header (all zeros or all ones) and at a loop.
    `header_at` is a function so that a caller can read the list from a device register by register.
    """
    offset = PCI_CFG_SPACE_SIZE
    seen = set()
    while offset >= PCI_CFG_SPACE_SIZE and offset not in seen:
        seen.add(offset)
        header = header_at(offset)
        if header in (None, 0, 0xFFFFFFFF):
            return
        yield header & 0xFFFF, offset               # PCI_EXT_CAP_ID()
        offset = header >> 20 & 0xFFC               # PCI_EXT_CAP_NEXT()


def find_extended_capability(config: bytes, wanted: int) -> int | None:
    """Return the offset of the first extended capability with the id `wanted`."""
    walk = walk_extended_capabilities(lambda offset: read_u32(config, offset))
    return next((offset for number, offset in walk if number == wanted), None)
