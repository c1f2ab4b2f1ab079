# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Encode PCI registers known only from the text of lspci -vvv as the bytes of a configuration space dump."""
from __future__ import annotations

import re
from typing import Any

from ...module_utils._pci import registers as pci
from ...module_utils._pci.capabilities import PCI_CFG_SPACE_EXP_SIZE, PCI_CFG_SPACE_SIZE

_CAPABILITY = re.compile(r"Capabilities: \[([0-9a-f]{2,3})(?: v(\d{1,2}))?\] (.*)")
_ACS_SIGNS = re.compile(r"(SrcValid|TransBlk|ReqRedir|CmpltRedir|UpstreamFwd|EgressCtrl|DirectTrans)([-+])")
_ACS_BITS = dict(zip(("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans"),
                     pci.ACS_BITS.values()))
_REBAR = re.compile(r"BAR (\d): current size: (\d{1,6})([KMGT]?)B?, supported: (.*)")
_SIZE = re.compile(r"(\d{1,6})([KMGT]?)B?")
_UNITS = {"": -20, "K": -10, "M": 0, "G": 10, "T": 20}      # powers of two of a MiB
_EXPRESS = re.compile(r"Express \(v(\d)\) (.*?)(?:,| MSI| \(Slot|$)")
_EXPRESS_OLD = re.compile(r"Express (.*?)(?:,| MSI| \(Slot|$)")
_TYPES = {"Endpoint": 0, "Legacy Endpoint": 1, "Root Port": 4, "Upstream Port": 5, "Downstream Port": 6,
          "PCI-Express to PCI/PCI-X Bridge": 7, "PCI/PCI-X to PCI-Express Bridge": 8,
          "Root Complex Integrated Endpoint": 9, "Root Complex Event Collector": 10}
_SPEEDS = {"2.5": 1, "5": 2, "8": 3, "16": 4, "32": 5, "64": 6}
_LINK = re.compile(r"Speed (\d{1,2}(?:\.5)?)GT/s[^,]*, Width x(\d{1,2})")
_PAYLOAD = re.compile(r"MaxPayload (\d{3,4}) bytes")
_READ_REQUEST = re.compile(r"MaxReadReq (\d{3,4}) bytes")
_TARGET = re.compile(r"Target Link Speed: (\d{1,2}(?:\.5)?)GT/s")
_TIMEOUTS = {"50us to 50ms": 0, "50us to 100us": 1, "1ms to 10ms": 2, "16ms to 55ms": 5, "65ms to 210ms": 6,
             "260ms to 900ms": 9, "1s to 3.5s": 10, "4s to 13s": 13, "17s to 64s": 14}


def capabilities(detail: list[str]) -> list[tuple[int, str, list[str]]]:
    """`(offset, name, lines below it)` of each capability in the text."""
    found: list[tuple[int, str, list[str]]] = []
    for line in detail:
        start = _CAPABILITY.match(line)
        if start is not None:
            found.append((int(start[1], 16), start[3], []))
        elif found:
            found[-1][2].append(line)
    return found


def extended_space(detail: list[str]) -> bytes | None:
    """The part of extended space that an audit decodes, ACS and Resizable BAR; None if the text has nothing of it.

    lspci prints all extended capabilities, or none if it could not read them: if it prints some, those missing do not
    exist. The others are left out, as their content is unknown.
    """
    found = [one for one in capabilities(detail) if one[0] >= PCI_CFG_SPACE_SIZE]
    known = [(offset, body) for offset, name, lines in found if (body := _body(name, lines)) is not None]
    unread = [name for _offset, name, lines in found if _is_decoded(name) and _body(name, lines) is None]
    if not found or unread:
        return None
    space = bytearray(PCI_CFG_SPACE_EXP_SIZE - PCI_CFG_SPACE_SIZE)
    # The list begins at 0x100: an empty vendor-specific capability points to the first known one.
    places = sorted(known)
    if not places or places[0][0] != PCI_CFG_SPACE_SIZE:
        places.insert(0, (PCI_CFG_SPACE_SIZE, (0x000B).to_bytes(2, "little") + bytes(6)))
    for position, (offset, body) in enumerate(places):
        behind = places[position + 1][0] if position + 1 < len(places) else 0
        head = int.from_bytes(body[:2], "little") | 1 << 16 | behind << 20
        at = offset - PCI_CFG_SPACE_SIZE
        piece = (head.to_bytes(4, "little") + body[4:])[:len(space) - at]
        space[at:at + len(piece)] = piece
    return bytes(space)


def _is_decoded(name: str) -> bool:
    return name.startswith(("Access Control Services", "Physical Resizable BAR", "Resizable BAR"))


def _body(name: str, lines: list[str]) -> bytes | None:
    if name.startswith("Access Control Services"):
        return _acs(lines)
    return _resizable_bars(lines) if name.startswith(("Physical Resizable BAR", "Resizable BAR")) else None


def _acs(lines: list[str]) -> bytes | None:
    words = [_signs(lines, name) for name in ("ACSCap:", "ACSCtl:")]
    if words[1] is None:
        return None
    return bytes((0x0D, 0, 0, 0)) + b"".join((word or 0).to_bytes(2, "little") for word in words)


def _signs(lines: list[str], name: str) -> int | None:
    text = next((line for line in lines if line.startswith(name)), None)
    if text is None:
        return None
    return sum(_ACS_BITS[sign] for sign, state in _ACS_SIGNS.findall(text) if state == "+")


def _resizable_bars(lines: list[str]) -> bytes | None:
    entries = [found for line in lines if (found := _REBAR.match(line))]
    if not entries:
        return None
    body = bytes((0x15, 0, 0, 0))
    for index, size, unit, sizes in (entry.groups() for entry in entries):
        possible = sum(1 << (4 + code) for number, its in _SIZE.findall(sizes)
                       if 0 <= (code := _code(number, its)) < 28)
        control = int(index) | len(entries) << pci.PCI_REBAR_CTRL_NBAR_SHIFT | max(_code(size, unit), 0) << 8
        body += possible.to_bytes(4, "little") + control.to_bytes(4, "little")
    return body


def _code(number: str, unit: str) -> int:
    """0 for 1 MiB, 1 for 2 MiB and so on."""
    return int(number).bit_length() - 1 + _UNITS[unit]


def express_config(device: dict[str, Any]) -> bytes | None:
    """256 bytes with the PCI Express capability from the text of lspci -vv; None if the text has not enough."""
    for offset, name, lines in capabilities(device["detail"]):
        kind = _EXPRESS.match(name) or _EXPRESS_OLD.match(name)
        if kind is not None and 0x40 <= offset <= 0xC0 and device["vendor"]:
            body = _express(int(kind[1]) if kind.re is _EXPRESS else 1, kind[kind.lastindex or 1], lines)
            return None if body is None else _with_header(device, offset, body)
    return None


def _with_header(device: dict[str, Any], offset: int, body: bytes) -> bytes:
    config = bytearray(PCI_CFG_SPACE_SIZE)
    for at, number in ((0, device["vendor"]), (2, device["device"] or "0000")):
        config[at:at + 2] = int(number, 16).to_bytes(2, "little")
    config[0x06] = 0x10                                 # PCI_STATUS_CAP_LIST
    config[0x08] = int(device["revision"] or "0", 16)
    config[0x0A:0x0C] = int(device["class"] or "0", 16).to_bytes(2, "little")
    if device["secondary"] is not None:
        config[0x0E], config[0x19] = 1, device["secondary"]
    config[0x34] = offset
    config[offset:offset + len(body)] = body
    return bytes(config[:PCI_CFG_SPACE_SIZE])


def _express(version: int, kind: str, lines: list[str]) -> bytes | None:
    parts = _registers(lines)
    payload, most, request = (_PAYLOAD.search(parts.get("DevCtl", "")), _PAYLOAD.search(parts.get("DevCap", "")),
                              _READ_REQUEST.search(parts.get("DevCtl", "")))
    if not (payload and most and request) or kind.strip() not in _TYPES:
        return None
    # The second register set counts only if the text has all its decoded fields.
    second = (version >= 2 and "10BitTagComp" in parts.get("DevCap2", "")
              and "Completion Timeout" in parts.get("DevCtl2", ""))
    body = bytearray(0x3C)
    body[0], body[2] = 0x10, (2 if second else 1) | _TYPES[kind.strip()] << 4
    _put(body, pci.PCI_EXP_DEVCAP, 4, pci.code_of_size(int(most[1])) | _flag(parts["DevCap"], "ExtTag", 0x20))
    _put(body, pci.PCI_EXP_DEVCTL, 2, pci.code_of_size(int(payload[1])) << 5 | pci.code_of_size(int(request[1])) << 12
         | _flag(parts["DevCtl"], "RlxdOrd", 0x10) | _flag(parts["DevCtl"], "ExtTag", 0x100)
         | _flag(parts["DevCtl"], "NoSnoop", 0x800))
    _put_link(body, parts)
    if second:
        _put_second_set(body, parts)
    return bytes(body)


def _put_link(body: bytearray, parts: dict[str, str]) -> None:
    most, now = _LINK.search(parts.get("LnkCap", "")), _LINK.search(parts.get("LnkSta", ""))
    aspm = parts.get("LnkCtl", "").partition(";")[0]
    bits = (1 if "L0s" in aspm else 0) | (2 if "L1" in aspm else 0) if "Enabled" in aspm else 0
    for offset, size, found in ((pci.PCI_EXP_LNKCAP, 4, most), (pci.PCI_EXP_LNKSTA, 2, now)):
        if found:
            _put(body, offset, size, _SPEEDS.get(found[1], 0) | int(found[2]) << 4)
    _put(body, pci.PCI_EXP_LNKCTL, 2, bits)


def _put_second_set(body: bytearray, parts: dict[str, str]) -> None:
    control, target = parts.get("DevCtl2", ""), _TARGET.search(parts.get("LnkCtl2", ""))
    timeout = next((code for text, code in _TIMEOUTS.items() if f"Completion Timeout: {text}" in control), 0)
    _put(body, pci.PCI_EXP_DEVCAP2, 4, _flag(parts.get("DevCap2", ""), "10BitTagReq", 0x20000))
    _put(body, pci.PCI_EXP_DEVCTL2, 2, timeout | _flag(control, "TimeoutDis", 0x10)
         | _flag(control, "10BitTagReq", pci.PCI_EXP_DEVCTL2_10BIT_TAG_REQ))
    _put(body, pci.PCI_EXP_LNKCTL2, 2, _SPEEDS.get(target[1], 0) if target else 0)


def _registers(lines: list[str]) -> dict[str, str]:
    """The text of each register with its continuation lines joined: `DevCtl`, `LnkSta` ..."""
    parts: dict[str, str] = {}
    name = ""
    for line in lines:
        start = re.match(r"([A-Z][A-Za-z]{2,7}\d?):\s*(.*)", line)
        if start is not None:
            name = start[1]
            parts.setdefault(name, start[2])
        elif name:
            parts[name] += " " + line
    return parts


def _flag(text: str, name: str, bit: int) -> int:
    return bit if re.search(rf"\b{name}\+", text) else 0


def _put(body: bytearray, offset: int, size: int, number: int) -> None:
    body[offset:offset + size] = number.to_bytes(size, "little")
