# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Contradictions between two parts of a report: they are from two moments, or two machines."""
from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from ...module_utils._nvidia.proc import parse_version
from ...module_utils._nvidia.smi_text import parse_text
from ...module_utils._pci.address import DEVICES, kernel_address
from .recorded_host import RecordedHost

_GPUS = "/proc/driver/nvidia/gpus"
_VBIOS = re.compile(r"^Video BIOS:\s+(\S+)", re.MULTILINE)
_LINUX = re.compile(r"\bLinux version (\S+)")


def contradictions(host: RecordedHost) -> list[str]:
    """One sentence for each contradiction; none if one of the two parts is missing."""
    return [*_kernels(host), *_with_smi(host)]


def _kernels(host: RecordedHost) -> Iterator[str]:
    running = (host.text("/proc/sys/kernel/osrelease") or "").strip()
    logged = _LINUX.search((host.text("/recorded/kmsg.txt") or "")[:100_000])
    if running and logged is not None and logged[1] != running:
        yield f"uname says that kernel {running} runs, the kernel log begins with {logged[1]}"


def _with_smi(host: RecordedHost) -> Iterator[str]:
    root = parse_text(host.text("/recorded/nvidia-smi.txt") or "")
    if root is None:
        return
    yield from _drivers(host, (root.findtext("driver_version") or "").strip())
    for gpu in root.findall("gpu"):
        bdf = kernel_address(gpu.get("id") or "")
        if bdf is not None:
            yield from _gpus(host, bdf, gpu)


def _drivers(host: RecordedHost, told: str) -> Iterator[str]:
    try:
        loaded = parse_version(host.text("/proc/driver/nvidia/version") or "").version
    except ValueError:
        return
    if told and loaded != told:
        yield f"/proc/driver/nvidia/version says driver {loaded}, nvidia-smi {told}"


def _gpus(host: RecordedHost, bdf: str, gpu: ElementTree.Element) -> Iterator[str]:
    kept = _VBIOS.search(host.text(f"{_GPUS}/{bdf}/information") or "")
    told = (gpu.findtext("vbios_version") or "").strip()
    if kept is not None and "?" not in kept[1] and told and kept[1].lower() != told.lower():
        yield f"{bdf} has the VBIOS {kept[1]} by its driver, {told} by nvidia-smi"
    listed = f"{DEVICES}/{bdf}" in host.links or f"{DEVICES}/{bdf}/vendor" in host.files
    if DEVICES in host.listed and not listed:
        yield f"nvidia-smi has a GPU at {bdf}, where lspci has no device"
