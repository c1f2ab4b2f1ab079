# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Failures of devices and memory in the kernel log: one entry per kind and subject.

Each pattern names the source of its text. Similar lines must not match: the log of a healthy host has
"Shutdown timeout set to 10 seconds" and "no uncorrectable hardware errors detected".
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .._pci.address import kernel_address
from .lockups import find_lockups
from .oom_kills import find_oom_kills

IOMMU_FAULT = "iommu_fault"
AMDGPU_UNCORRECTABLE, AMDGPU_RESET, AMDGPU_INIT = "amdgpu_uncorrectable", "amdgpu_reset", "amdgpu_init"
NVME = "nvme"
AER_CORRECTED, AER_LIMIT = "aer_corrected", "aer_limit"

LIMIT = 1000        # kinds and subjects; every restarted container has a new control group

SEEN = 500          # characters of a line; the matches are at its beginning

# Every line that a group's patterns can match contains one of its words; most lines of a log contain none.
_HINTS = re.compile(r"(?P<iommu>AMD-Vi: Event|DMAR:|arm-smmu-v3)|(?P<amdgpu>amdgpu)|(?P<nvme>nvme\d)"
                    r"|(?P<aer>AER:|PCIe Bus Error|aer\w*: \d+ callbacks)")


class Event(NamedTuple):
    """One line's event: `kind` is a constant of this file, `subject` a PCI address, an NVMe controller, or None."""

    kind: str
    subject: str | None
    detail: str | None = None


class _Pattern(NamedTuple):
    hint: str                   # its group of _HINTS
    kind: str
    line: re.Pattern[str]       # the group `at` is the subject


_DEVICE = r"(?P<at>[0-9a-fA-F]{0,8}:?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7])"
_PATTERNS = (
    # amd_iommu_report_page_fault() and iommu_print_event() in drivers/iommu/amd/iommu.c: the device is in front,
    # or in the brackets, with or without its domain.
    _Pattern("iommu", IOMMU_FAULT, re.compile(rf"{_DEVICE}: AMD-Vi: Event logged \[\w+ ")),
    _Pattern("iommu", IOMMU_FAULT, re.compile(rf"AMD-Vi: Event logged \[\w+ device={_DEVICE}")),
    # dmar_fault_do_one() in drivers/iommu/intel/dmar.c
    _Pattern("iommu", IOMMU_FAULT, re.compile(rf"DMAR: ?\[[^\]]*\] Request device \[+{_DEVICE}\]")),
    # arm_smmu_dump_event() in drivers/iommu/arm/arm-smmu-v3/arm-smmu-v3.c
    _Pattern("iommu", IOMMU_FAULT, re.compile(rf"arm-smmu-v3 .*event: [FC]_\w+ client: {_DEVICE}")),
    # drivers/gpu/drm/amd/amdgpu: amdgpu_ras.c counts from one, amdgpu_device.c resets and initialises
    _Pattern("amdgpu", AMDGPU_UNCORRECTABLE, re.compile(
        rf"{_DEVICE}: .*\b0*[1-9]\d* (?:new )?uncorrectable hardware errors detected\b")),
    _Pattern("amdgpu", AMDGPU_UNCORRECTABLE, re.compile(
        rf"{_DEVICE}: .*uncorrectable hardware error\(ERREVENT_ATHUB_INTERRUPT\)")),
    _Pattern("amdgpu", AMDGPU_RESET, re.compile(
        rf"{_DEVICE}: .*GPU (?:reset begin\b|Recovery Failed|reset(?:\(\d+\))? failed)")),
    _Pattern("amdgpu", AMDGPU_INIT, re.compile(rf"{_DEVICE}: .*Fatal error during GPU init")),
    # drivers/nvme/host/pci.c: nvme_timeout(), nvme_warn_reset(), nvme_reset_work(); core.c: nvme_wait_ready()
    _Pattern("nvme", NVME, re.compile(r"(?P<at>nvme\d+): .*\bQID \d+ timeout\b")),
    _Pattern("nvme", NVME, re.compile(r"(?P<at>nvme\d+): controller is down; will reset")),
    _Pattern("nvme", NVME, re.compile(
        r"(?P<at>nvme\d+): (?:Device not ready; aborting|Disabling device after reset failure"
        r"|Removing after probe failure|resetting controller)")),
    # drivers/pci/pcie/aer.c: aer_print_port_info() has had three wordings
    _Pattern("aer", AER_CORRECTED, re.compile(
        rf"AER: (?:Multiple )?Correct(?:ed|able) error (?:message )?received(?: from)?:? {_DEVICE}")),
    _Pattern("aer", AER_CORRECTED, re.compile(rf"{_DEVICE}: (?:AER: )?PCIe Bus Error: severity=Correct(?:ed|able)\b")),
)
_SUPPRESSED = re.compile(r"\b\w*aer\w*: (\d{1,9}) callbacks suppressed")        # lib/ratelimit.c


def find_events(lines: list[dict]) -> list[dict]:
    """Return `[{kind, subject, count, first_seconds, last_seconds, detail, text}]` for log lines `[{seconds, text}]`.

    Ordered by the first line of each, the newest LIMIT of them; `text` is the first line, seconds are None if the log
    has no time stamps.
    """
    found: dict[tuple[str, str | None], dict] = {}
    for event, line, count in [*_of_devices(lines), *_of_programs(lines)]:
        entry = found.setdefault((event.kind, event.subject), {
            "kind": event.kind, "subject": event.subject, "count": 0, "first_seconds": line["seconds"],
            "last_seconds": None, "detail": event.detail, "text": line["text"]})
        entry["count"] += count
        entry["last_seconds"] = line["seconds"]
        entry["detail"] = entry["detail"] or event.detail
    return list(found.values())[-LIMIT:]


def _of_devices(lines: list[dict]) -> Iterator[tuple[Event, dict, int]]:
    """An AER report has two matching lines: the second one counts only if the first is missing."""
    named = False
    for line in lines:
        text = line["text"][:SEEN]
        hints = {hint.lastgroup for hint in _HINTS.finditer(text)}
        if not hints:
            continue
        suppressed = _SUPPRESSED.search(text) if "aer" in hints else None
        if suppressed is not None:
            yield Event(AER_LIMIT, None), line, int(suppressed[1])
            continue
        event, introduced = _match(text, hints)
        if event is None or (event.kind == AER_CORRECTED and not introduced and named):
            named = False
            continue
        named = event.kind == AER_CORRECTED and introduced
        yield event, line, 1


def _match(text: str, hints: set[str | None]) -> tuple[Event | None, bool]:
    """Return the event of a line, and for AER whether the line introduces a report."""
    for pattern in _PATTERNS:
        match = pattern.line.search(text) if pattern.hint in hints else None
        if match is not None:
            return Event(pattern.kind, _subject(match["at"])), "received" in match[0]
    return None, False


def _subject(at: str) -> str:
    return kernel_address(at) or at


def _of_programs(lines: list[dict]) -> Iterator[tuple[Event, dict, int]]:
    for kind, subject, detail, line in [*find_oom_kills(lines), *find_lockups(lines)]:
        yield Event(kind, subject, detail), line, 1
