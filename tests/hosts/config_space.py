# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration spaces of PCI devices, composed by register from the PCI Express Base Specification.

It shares nothing with the decoder under test: offsets and codes are defined here independently.
"""
from __future__ import annotations

ENDPOINT, LEGACY_ENDPOINT, ROOT_PORT, UPSTREAM_PORT, DOWNSTREAM_PORT = 0, 1, 4, 5, 6
PCIE_TO_PCI_BRIDGE, INTEGRATED_ENDPOINT = 7, 9

SPEED_CODES = {None: 0, 2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}      # GT/s
SIZE_CODES = {128: 0, 256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}                # bytes


class ConfigSpace:
    """One function's configuration space. Capabilities are linked in the order in which they are added.

    `header` is 0 for a device, 1 for a bridge; `size` 256 or 4096. Every method returns the space itself.
    """

    def __init__(self, vendor: int = 0x10DE, device: int = 0x2BB5, class_: int = 0x030200, *, revision: int = 0xA1,
                 subsystem: tuple[int, int] = (0x10DE, 0x204E), header: int = 0, size: int = 4096) -> None:
        self.space = bytearray(size)
        self.put(0x00, vendor, 2).put(0x02, device, 2).put(0x04, 0x0006, 2)
        self.put(0x08, revision, 1).put(0x09, class_, 3).put(0x0E, header, 1)
        if header == 0:
            self.put(0x2C, subsystem[0], 2).put(0x2E, subsystem[1], 2)
        self._link_to_next = 0x34           # where the offset of the next capability is written
        self._last_extended = None
        self._extended_end = 0x100
        self.express_offset = None

    def put(self, offset: int, value: int, size: int) -> ConfigSpace:
        """`value` as a little-endian number of `size` bytes."""
        self.space[offset:offset + size] = value.to_bytes(size, "little")
        return self

    def bytes(self, length: int | None = None) -> bytes:
        """The whole space, or its first bytes only: the kernel gives unprivileged users 64."""
        return bytes(self.space[:length])

    # -- the first 256 bytes ----------------------------------------------------------------------------------

    def capability(self, number: int, offset: int, body: bytes = b"") -> ConfigSpace:
        """A capability at `offset`; `body` follows its id and link."""
        self.put(0x06, 0x0010, 2)           # Status: there is a capability list
        self.put(self._link_to_next, offset, 1)
        self.put(offset, number, 1).put(offset + 1, 0, 1)
        self.space[offset + 2:offset + 2 + len(body)] = body
        self._link_to_next = offset + 1
        return self

    def null_capability(self, offset: int) -> ConfigSpace:
        return self.capability(0x00, offset)

    def power_management(self, offset: int = 0x40) -> ConfigSpace:
        return self.capability(0x01, offset, bytes.fromhex("03c0 0800 0000"))

    def msi(self, offset: int = 0x48) -> ConfigSpace:
        """Message Signalled Interrupts, enabled, with an address and data that make damage easy to see."""
        return self.capability(0x05, offset, bytes.fromhex("8100 78f1e0fe 00000000 4321"))

    def msix(self, offset: int = 0xB0) -> ConfigSpace:
        return self.capability(0x11, offset, bytes.fromhex("0580 0000b900 0000ba00"))

    def express(self, offset: int = 0x60, *, port_type: int = ENDPOINT, version: int = 2,
                max_payload: int = 256, max_payload_supported: int = 256, max_read_request: int = 512,
                relaxed_ordering: bool = True, no_snoop: bool = True, error_reporting: int = 0x7,
                extended_tags: bool = True, extended_tags_supported: bool = True,
                ten_bit_tags: bool = False, ten_bit_tags_supported: bool = True,
                completion_timeout: int = 0, completion_timeout_disabled: bool = False,
                speed: float | None = 2.5, width: int = 16, max_speed: float = 32.0, max_width: int = 16,
                target_speed: float | None = None, autonomous_speed_disabled: bool = False,
                aspm: int = 0) -> ConfigSpace:
        """The PCI Express capability. Sizes in bytes, speeds in GT/s, `aspm` as in Link Control (1 L0s, 2 L1),
        `completion_timeout` is the code in Device Control 2.

        The defaults are an idle 2bb5: Device Control 0x2937, link 2.5 GT/s x16 of 32 GT/s x16.
        """
        self.capability(0x10, offset)
        self.express_offset = offset
        self.put(offset + 0x02, version | port_type << 4, 2)
        self.put(offset + 0x04, SIZE_CODES[max_payload_supported] | extended_tags_supported << 5, 4)
        self.put(offset + 0x08, error_reporting | relaxed_ordering << 4 | SIZE_CODES[max_payload] << 5
                 | extended_tags << 8 | no_snoop << 11 | SIZE_CODES[max_read_request] << 12, 2)
        self.put(offset + 0x0A, 0x0009, 2)  # Device Status: bits that a 32-bit write would clear
        self.put(offset + 0x0C, SPEED_CODES[max_speed] | max_width << 4, 4)
        self.put(offset + 0x10, aspm, 2)
        self.put(offset + 0x12, SPEED_CODES[speed] | width << 4, 2)
        if version >= 2:
            self.put(offset + 0x24, ten_bit_tags_supported << 16 | ten_bit_tags_supported << 17 | 1 << 4, 4)
            self.put(offset + 0x28, completion_timeout | completion_timeout_disabled << 4 | ten_bit_tags << 12, 2)
            self.put(offset + 0x30, SPEED_CODES[target_speed or max_speed] | autonomous_speed_disabled << 5, 2)
        return self

    def max_read_request_code(self, code: int) -> ConfigSpace:
        """Set any of the eight codes of MaxReadReq, including the two reserved ones, without changing other fields."""
        high = self.express_offset + 0x09
        return self.put(high, self.space[high] & 0x8F | code << 4, 1)

    # -- from 0x100 -------------------------------------------------------------------------------------------

    def extended(self, number: int, body: bytes = b"", offset: int | None = None) -> ConfigSpace:
        """An extended capability; the first one is always at 0x100, later ones follow unless an offset is given."""
        here = offset if offset is not None and self._last_extended is not None else self._extended_end
        if self._last_extended is not None:
            last = int.from_bytes(self.space[self._last_extended:self._last_extended + 4], "little")
            self.put(self._last_extended, last & 0xFFFFF | here << 20, 4)
        self.put(here, number | 1 << 16, 4)
        self.space[here + 4:here + 4 + len(body)] = body
        self._last_extended = here
        self._extended_end = (here + 4 + len(body) + 3) & ~3
        return self

    def aer(self, offset: int | None = None) -> ConfigSpace:
        """Advanced Error Reporting with all registers zero."""
        return self.extended(0x0001, bytes(0x44), offset)

    def acs(self, control: int = 0x0000, supported: int = 0x001F, offset: int | None = None) -> ConfigSpace:
        """Access Control Services: 1 SrcValid, 2 TransBlk, 4 ReqRedir, 8 CmpltRedir, 0x10 UpstreamFwd, 0x20 EgressCtrl,
        0x40 DirectTrans."""
        return self.extended(0x000D, supported.to_bytes(2, "little") + control.to_bytes(2, "little"), offset)

    def resizable_bars(self, *bars: tuple[int, int, tuple[int, ...]], offset: int | None = None) -> ConfigSpace:
        """Resizable BARs, each as `(BAR number, current size in MiB, possible sizes in MiB)`."""
        body = b""
        for number, size, sizes in bars:
            possible = sum(1 << (mib.bit_length() - 1 + 4) for mib in sizes)
            control = number | len(bars) << 5 | (size.bit_length() - 1) << 8
            body += possible.to_bytes(4, "little") + control.to_bytes(4, "little")
        return self.extended(0x0015, body, offset)


def all_ones(size: int = 4096) -> bytes:
    """The space of a device that fell off the bus."""
    return b"\xff" * size


def gpu_space(*, bar_mib: int | None = 128 << 10, acs: int | None = None, **express: object) -> ConfigSpace:
    """A 2bb5 as lspci shows it on a real host: PM@40 MSI@48 PCIe@60 MSI-X@b0, a legacy endpoint, BAR 2 of 128 GiB.

    `express` as in ConfigSpace.express().
    """
    fields = {"port_type": LEGACY_ENDPOINT, "ten_bit_tags": True, **express}
    space = ConfigSpace().power_management(0x40).msi(0x48).express(0x60, **fields).msix(0xB0)
    space.extended(0x0019, bytes(0x28))         # Secondary PCI Express
    if bar_mib is not None:
        space.resizable_bars((2, bar_mib, tuple(64 << step for step in range(12))))
    space.aer(0x1B8)
    if acs is not None:
        space.acs(acs)
    return space


def root_port_space(*, vendor: int = 0x1022, device: int = 0x153E, acs: int | None = 0x0011,
                    **express: object) -> ConfigSpace:
    """A root port, AMD's by default: PM@50 PCIe@58, MaxPayload 256 of 512, ACS SrcValid+ UpstreamFwd+."""
    fields = {"port_type": ROOT_PORT, "max_payload_supported": 512, "speed": 32.0, "ten_bit_tags": True, **express}
    return _port_space(vendor, device, 0x50, 0x58, acs, fields)


def switch_port_space(port_type: int = DOWNSTREAM_PORT, *, vendor: int = 0x1000, device: int = 0xC030,
                      acs: int | None = 0x0011, **express: object) -> ConfigSpace:
    """A port of a switch, a Broadcom PEX890xx by default: PM@40 PCIe@68, MaxReadReq 128, no extended tags."""
    fields = {"port_type": port_type, "max_payload_supported": 2048, "max_read_request": 128, "speed": 32.0,
              "extended_tags": False, "extended_tags_supported": False, "ten_bit_tags_supported": False, **express}
    return _port_space(vendor, device, 0x40, 0x68, None if port_type == UPSTREAM_PORT else acs, fields)


def _port_space(vendor: int, device: int, power_offset: int, express_offset: int, acs: int | None,
                express: dict) -> ConfigSpace:
    space = ConfigSpace(vendor, device, 0x060400, revision=0, header=1)
    space.power_management(power_offset).express(express_offset, **express).aer()
    if acs is not None:
        space.acs(acs, supported=0x005F)
    return space
