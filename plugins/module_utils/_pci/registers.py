# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Decode the PCI Express, ACS and resizable-BAR registers in the bytes of a config space. Pure functions.

Constants are named as in include/uapi/linux/pci_regs.h; those of 10-bit tags, which it lacks, as in pciutils.
"""
from __future__ import annotations

from .capabilities import (
    PCI_CFG_SPACE_SIZE,
    PCI_EXT_CAP_ID_ACS,
    PCI_EXT_CAP_ID_REBAR,
    find_extended_capability,
    find_pcie_capability,
    read_u16,
    read_u32,
)

# Offsets within the PCI Express capability
PCI_EXP_FLAGS = 0x02
PCI_EXP_DEVCAP = 0x04
PCI_EXP_DEVCTL = 0x08
PCI_EXP_LNKCAP = 0x0C
PCI_EXP_LNKCTL = 0x10
PCI_EXP_LNKSTA = 0x12
PCI_EXP_DEVCAP2 = 0x24
PCI_EXP_DEVCTL2 = 0x28
PCI_EXP_LNKCTL2 = 0x30

PCI_EXP_FLAGS_VERS = 0x000F
PCI_EXP_FLAGS_TYPE = 0x00F0
PCI_EXP_DEVCAP_PAYLOAD = 0x00000007
PCI_EXP_DEVCAP_EXT_TAG = 0x00000020
PCI_EXP_DEVCTL_RELAX_EN = 0x0010
PCI_EXP_DEVCTL_PAYLOAD = 0x00E0
PCI_EXP_DEVCTL_PAYLOAD_SHIFT = 5
PCI_EXP_DEVCTL_EXT_TAG = 0x0100
PCI_EXP_DEVCTL_NOSNOOP_EN = 0x0800
PCI_EXP_DEVCTL_READRQ = 0x7000
PCI_EXP_DEVCTL_READRQ_SHIFT = 12
PCI_EXP_DEVCTL_BCR_FLR = 0x8000             # writing 1 resets an endpoint
PCI_EXP_DEVCAP2_10BIT_TAG_REQ = 0x00020000
PCI_EXP_DEVCTL2_COMP_TIMEOUT = 0x000F
PCI_EXP_DEVCTL2_COMP_TMOUT_DIS = 0x0010
PCI_EXP_DEVCTL2_10BIT_TAG_REQ = 0x1000
PCI_EXP_LNKCAP_SLS = 0x0000000F
PCI_EXP_LNKCAP_MLW = 0x000003F0
PCI_EXP_LNKCTL_ASPMC = 0x0003
PCI_EXP_LNKSTA_CLS = 0x000F
PCI_EXP_LNKSTA_NLW = 0x03F0
PCI_EXP_LNKSTA_NLW_SHIFT = 4
PCI_EXP_LNKCTL2_TLS = 0x000F
PCI_EXP_LNKCTL2_HASD = 0x0020

PORT_TYPES = {
    0x0: "endpoint", 0x1: "legacy_endpoint", 0x4: "root_port", 0x5: "upstream_port", 0x6: "downstream_port",
    0x7: "pcie_pci_bridge", 0x8: "pci_pcie_bridge", 0x9: "integrated_endpoint", 0xA: "event_collector",
}
TYPES_WITH_LINK = ("endpoint", "legacy_endpoint", "root_port", "upstream_port", "downstream_port",
                   "pcie_pci_bridge", "pci_pcie_bridge")            # the others are part of the root complex
LINK_SPEEDS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}   # GT/s, PCI_EXP_LNKCAP_SLS_*
# Base Specification, Device Control 2: Completion Timeout Value; the other codes are reserved.
COMPLETION_TIMEOUTS = {0x0: "50us-50ms", 0x1: "50us-100us", 0x2: "1ms-10ms", 0x5: "16ms-55ms", 0x6: "65ms-210ms",
                       0x9: "260ms-900ms", 0xA: "1s-3.5s", 0xD: "4s-13s", 0xE: "17s-64s"}
ASPM_STATES = ("disabled", "l0s", "l1", "l0s_l1")

PCI_ACS_CTRL = 0x06
ACS_BITS = {                    # PCI_ACS_SV, _TB, _RR, _CR, _UF, _EC, _DT
    "source_validation": 0x0001, "translation_blocking": 0x0002, "request_redirect": 0x0004,
    "completion_redirect": 0x0008, "upstream_forwarding": 0x0010, "egress_control": 0x0020,
    "direct_translated": 0x0040,
}
PCI_ACS_SIZEOF = 0x08

PCI_REBAR_CAP = 0x04
PCI_REBAR_CTRL = 0x08
PCI_REBAR_ENTRY_SIZEOF = 8      # a capability and a control register
PCI_REBAR_CTRL_BAR_IDX = 0x00000007
PCI_REBAR_CTRL_NBAR_MASK = 0x000000E0
PCI_REBAR_CTRL_NBAR_SHIFT = 5
PCI_REBAR_CTRL_BAR_SIZE = 0x00003F00
PCI_REBAR_CTRL_BAR_SHIFT = 8
PCI_STD_NUM_BARS = 6
PCI_REBAR_MAX_SIZEOF = 4 + PCI_STD_NUM_BARS * PCI_REBAR_ENTRY_SIZEOF


def size_of_code(code: int) -> int | None:
    """Convert a code of MaxPayload or MaxReadReq to bytes; None for 6 and 7, which are reserved."""
    return 128 << code if 0 <= code <= 5 else None


def code_of_size(size: int) -> int:
    """Convert a size in bytes to its code. Raises ValueError for anything but a power of two from 128 to 4096."""
    for code in range(6):
        if size_of_code(code) == size:
            return code
    raise ValueError(f"{size} is not one of 128, 256, 512, 1024, 2048, 4096")


def max_read_request(device_control: int) -> int | None:
    """Return MaxReadReq of a Device Control word in bytes, None for a reserved code."""
    return size_of_code((device_control & PCI_EXP_DEVCTL_READRQ) >> PCI_EXP_DEVCTL_READRQ_SHIFT)


def with_max_read_request(device_control: int, size: int) -> int:
    """Return the Device Control word with MaxReadReq set to `size` bytes, the reset bit cleared, and every other bit
    unchanged."""
    kept = device_control & ~(PCI_EXP_DEVCTL_READRQ | PCI_EXP_DEVCTL_BCR_FLR) & 0xFFFF
    return kept | code_of_size(size) << PCI_EXP_DEVCTL_READRQ_SHIFT


def parse_express(config: bytes) -> dict:
    """Decode the PCI Express capability: sizes in bytes, speeds in GT/s, None if this version lacks the register.

    Raises ValueError for a device without that capability, or if the bytes end within it.
    """
    config = config[:PCI_CFG_SPACE_SIZE]            # the capability must lie within it
    capability = find_pcie_capability(config)
    if capability is None:
        raise ValueError("no PCI Express capability in its list")
    flags = read_u16(config, capability + PCI_EXP_FLAGS)
    device_capabilities = read_u32(config, capability + PCI_EXP_DEVCAP)
    control = read_u16(config, capability + PCI_EXP_DEVCTL)
    if flags is None or device_capabilities is None or control is None:
        raise ValueError(f"the PCI Express capability at {capability:#x} is cut off")
    kind = PORT_TYPES.get((flags & PCI_EXP_FLAGS_TYPE) >> 4, "unknown")
    second = flags & PCI_EXP_FLAGS_VERS >= 2        # the registers from 0x24 on came with version 2
    return {
        "capability": capability,
        "type": kind,
        "max_payload": size_of_code((control & PCI_EXP_DEVCTL_PAYLOAD) >> PCI_EXP_DEVCTL_PAYLOAD_SHIFT),
        "max_payload_supported": size_of_code(device_capabilities & PCI_EXP_DEVCAP_PAYLOAD),
        "max_read_request": max_read_request(control),
        "relaxed_ordering": bool(control & PCI_EXP_DEVCTL_RELAX_EN),
        "no_snoop": bool(control & PCI_EXP_DEVCTL_NOSNOOP_EN),
        "extended_tags": bool(control & PCI_EXP_DEVCTL_EXT_TAG),
        "extended_tags_supported": bool(device_capabilities & PCI_EXP_DEVCAP_EXT_TAG),
        **_parse_second_set(config, capability, second),
        "link": _parse_link(config, capability, second) if kind in TYPES_WITH_LINK else None,
        "device_control": control,
    }


def _bit(register: int | None, mask: int) -> bool | None:
    return None if register is None else bool(register & mask)


def _parse_second_set(config: bytes, capability: int, present: bool) -> dict:
    capabilities = read_u32(config, capability + PCI_EXP_DEVCAP2) if present else None
    control = read_u16(config, capability + PCI_EXP_DEVCTL2) if present else None
    return {
        "ten_bit_tags": _bit(control, PCI_EXP_DEVCTL2_10BIT_TAG_REQ),
        "ten_bit_tags_supported": _bit(capabilities, PCI_EXP_DEVCAP2_10BIT_TAG_REQ),
        "completion_timeout": None if control is None else COMPLETION_TIMEOUTS.get(
            control & PCI_EXP_DEVCTL2_COMP_TIMEOUT),
        "completion_timeout_disabled": _bit(control, PCI_EXP_DEVCTL2_COMP_TMOUT_DIS),
    }


def _parse_link(config: bytes, capability: int, second: bool) -> dict | None:
    capabilities = read_u32(config, capability + PCI_EXP_LNKCAP)
    control = read_u16(config, capability + PCI_EXP_LNKCTL)
    status = read_u16(config, capability + PCI_EXP_LNKSTA)
    control2 = read_u16(config, capability + PCI_EXP_LNKCTL2) if second else None
    if capabilities is None or control is None or status is None:
        return None
    speed, width = parse_link_status(status)
    return {
        "speed_gts": speed,
        "width": width,
        "max_speed_gts": LINK_SPEEDS.get(capabilities & PCI_EXP_LNKCAP_SLS),
        "max_width": (capabilities & PCI_EXP_LNKCAP_MLW) >> PCI_EXP_LNKSTA_NLW_SHIFT,
        "target_speed_gts": None if control2 is None else LINK_SPEEDS.get(control2 & PCI_EXP_LNKCTL2_TLS),
        "autonomous_speed_disabled": _bit(control2, PCI_EXP_LNKCTL2_HASD),
        "aspm": ASPM_STATES[control & PCI_EXP_LNKCTL_ASPMC],
    }


def parse_link_status(status: int) -> tuple[float | None, int]:
    """Decode a Link Status word: current speed in GT/s, None for an unknown code, and lanes."""
    return LINK_SPEEDS.get(status & PCI_EXP_LNKSTA_CLS), (status & PCI_EXP_LNKSTA_NLW) >> PCI_EXP_LNKSTA_NLW_SHIFT


def parse_acs(config: bytes) -> dict | None:
    """Decode the ACS control register, one boolean per bit; None for a device without ACS."""
    capability = find_extended_capability(config, PCI_EXT_CAP_ID_ACS)
    control = None if capability is None else read_u16(config, capability + PCI_ACS_CTRL)
    return None if control is None else {name: bool(control & mask) for name, mask in ACS_BITS.items()}


def parse_resizable_bars(config: bytes) -> list:
    """Decode `{bar, size, sizes}` of each resizable BAR, in bytes; `sizes` are those the device supports."""
    capability = find_extended_capability(config, PCI_EXT_CAP_ID_REBAR)
    if capability is None:
        return []
    first = read_u32(config, capability + PCI_REBAR_CTRL) or 0
    count = (first & PCI_REBAR_CTRL_NBAR_MASK) >> PCI_REBAR_CTRL_NBAR_SHIFT
    bars = []
    for entry in range(min(count, PCI_STD_NUM_BARS)):
        at = capability + entry * PCI_REBAR_ENTRY_SIZEOF
        possible, control = read_u32(config, at + PCI_REBAR_CAP), read_u32(config, at + PCI_REBAR_CTRL)
        if possible is None or control is None:
            break
        code = (control & PCI_REBAR_CTRL_BAR_SIZE) >> PCI_REBAR_CTRL_BAR_SHIFT
        bars.append({
            "bar": control & PCI_REBAR_CTRL_BAR_IDX,
            "size": 1 << (20 + code),
            "sizes": [1 << (20 + bit - 4) for bit in range(4, 32) if possible & 1 << bit],      # bit 4: 1 MiB
        })
    return bars
