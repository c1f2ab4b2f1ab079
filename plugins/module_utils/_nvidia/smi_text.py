# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Convert the text output of `nvidia-smi -q` into the document that `nvidia-smi -q -x` prints.

nvidia-bug-report.sh and people keep the text form. Its sections are indented by four blanks per level; its names are
those of the XML spelled out, except for the ones in _NAMES.
"""
from __future__ import annotations

import re
from xml.etree import ElementTree

HEAD = "==============NVSMI LOG=============="
LINES_LIMIT = 100_000
DEPTH_LIMIT = 12
# Messages that nvidia-smi prints instead of a report or in addition to one.
_FAILURES = (
    "No devices were found", "Unable to determine the device handle", "Driver/library version mismatch",
    "couldn't communicate with", "couldn't find libnvidia-ml", "Failed to initialize NVML", "Insufficient Permissions",
    "GPU is lost", "Reboot the system", "Unable to determine number of", "command not found")

_GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*")
_FIELD = re.compile(r"( *)(\S.*?)(?:\s*:(?: (.*))?)?")
_WORDS = re.compile(r"[^a-z0-9]+")
_REASONS = ("clocks_throttle_reasons", "clocks_event_reasons")
_SECTIONS = {       # sections that have another name in the XML
    "gpu_link_info": "pci_gpu_link_info", "pcie_generation": "pcie_gen", "link_width": "link_widths",
}
# Fields with another name in the XML, by section: `Current` of `MIG Mode` is `current_mig`.
_NAMES = {
    "mig_mode": {"current": "current_mig", "pending": "pending_mig"},
    "ecc_mode": {"current": "current_ecc", "pending": "pending_ecc"},
    "pci": {"bus_id": "pci_bus_id"},
    "pcie_gen": {"max": "max_link_gen", "current": "current_link_gen", "device_current": "device_current_link_gen",
                 "device_max": "max_device_link_gen", "host_max": "max_host_link_gen"},
    "link_widths": {"max": "max_link_width", "current": "current_link_width"},
    "utilization": {"gpu": "gpu_util", "memory": "memory_util"},
    "temperature": {"gpu_current_temp": "gpu_temp"},
    "clocks": {"sm": "sm_clock", "graphics": "graphics_clock", "memory": "mem_clock"},
    "retired_pages": {"pending": "pending_retirement", "pending_page_blacklist": "pending_blacklist"},
    "remapped_rows": {"pending": "remapped_row_pending", "remapping_failure_occurred": "remapped_row_failure"},
    "power_readings": {"instantaneous_power_draw": "instant_power_draw"},
    "gpu_power_readings": {"instantaneous_power_draw": "instant_power_draw"},
    "volatile": {"sram_uncorrectable_sec_ded": "sram_uncorrectable_secded"},
    "aggregate": {"sram_uncorrectable_sec_ded": "sram_uncorrectable_secded"},
}
_REASON_NAMES = {"idle": "gpu_idle", "display_clock_setting": "display_clocks_setting"}


def parse_text(text: str) -> ElementTree.Element | None:
    """The element nvidia_smi_log with a `gpu` element per GPU; None for text without a report."""
    _before, head, report = text.partition(HEAD)
    if not head:
        return None
    root = ElementTree.Element("nvidia_smi_log")
    places: list[tuple[int, ElementTree.Element]] = [(-1, root)]
    for line in report.splitlines()[:LINES_LIMIT]:
        gpu = _GPU.fullmatch(line)
        if gpu is not None:
            places = [(-1, root), (0, ElementTree.SubElement(root, "gpu", id=gpu[1]))]
        elif line.strip():
            _take(places, line.rstrip())
    return root


def _take(places: list[tuple[int, ElementTree.Element]], line: str) -> None:
    """Add one line, `name : value` or a section name; `places` are the open sections with their indents."""
    field = _FIELD.fullmatch(line)
    if field is None:
        return
    indent, value = len(field[1]), field[3]
    while len(places) > 1 and places[-1][0] >= indent:
        places.pop()
    inside = places[-1][1]
    if inside.tag in _REASONS or (len(places) > 2 and places[-2][1].tag in _REASONS):
        inside = inside if inside.tag in _REASONS else places[-2][1]        # flat in the XML
    if inside.tag == "processes" and field[2] == "Process ID":
        inside = ElementTree.SubElement(inside, "process_info")
        places.append((indent, inside))         # its other fields are indented below this one
    element = ElementTree.SubElement(inside, _tag(inside.tag, field[2]))
    element.text = None if value is None else value.strip()
    if len(places) < DEPTH_LIMIT and (value is None or inside.tag in _REASONS):
        places.append((indent, element))


def _tag(section: str, name: str) -> str:
    tag = _WORDS.sub("_", name.lower()).strip("_") or "unnamed"
    if section in _REASONS:
        return f"{section.removesuffix('s')}_{_REASON_NAMES.get(tag, tag)}"
    tag = _NAMES.get(section, {}).get(tag, _SECTIONS.get(tag, tag))
    return tag if tag[0].isalpha() else f"n{tag}"


def find_failure(text: str) -> str | None:
    """The failure message of nvidia-smi, alone or in addition to a report; None without one."""
    lines = (line.strip() for line in text.splitlines()[:LINES_LIMIT] if " : " not in line)
    return next((line[:300] for line in lines if any(words in line for words in _FAILURES)), None)


def is_complete(root: ElementTree.Element) -> bool:
    """Whether the report contains as many GPUs as it says are attached."""
    counted = (root.findtext("attached_gpus") or "").strip()
    return not counted.isdecimal() or int(counted) == len(root.findall("gpu"))
