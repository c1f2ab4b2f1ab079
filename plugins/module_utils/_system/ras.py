# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Hardware errors: counters of the memory controllers and lines of the kernel log."""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import ABSENT, Reading, known, ok
from .log_events import find_events

CONTROLLERS = "/sys/devices/system/edac/mc"
MARK = "[Hardware Error]"       # HW_ERR, include/linux/printk.h
SHOWN = 10

_COUNTERS = ("mc_name", "size_mb", "ce_count", "ue_count", "seconds_since_reset")
_MODULE = ("dimm_label", "dimm_ce_count", "dimm_ue_count")
_UNCORRECTED = re.compile(r"\b(?:uncorrected|fatal|panic)\b", re.IGNORECASE)


def read(host: Host, log: Reading) -> dict:
    """Read the facts' section `ras`. `log` is the result of _kernel.log.read_lines()."""
    return {"controllers": known(lambda: read_controllers(host)), "errors": log.map(find_errors),
            "events": log.map(find_events)}


def read_controllers(host: Host) -> Reading:
    """Read the memory controllers monitored by EDAC (Documentation/admin-guide/ras.rst), counters since `seconds`.

    Absent if no driver supports the controller or firmware hides the errors, which does not mean zero errors. Modules
    are read and listed only if a controller has counted errors.
    """
    names = [name for name in host.list(CONTROLLERS) if re.fullmatch(r"mc\d{1,4}", name)]
    if not names:
        return Reading(ABSENT, None, "no EDAC driver is loaded for a memory controller")
    return ok([_read_controller(host, name) for name in sorted(names, key=lambda name: int(name[2:]))])


def _read_controller(host: Host, name: str) -> dict:
    read = host.read_attributes(f"{CONTROLLERS}/{name}", _COUNTERS)
    correctable, uncorrectable = read["ce_count"].map(int), read["ue_count"].map(int)
    counted = correctable.value or uncorrectable.value
    return {
        "controller": name,
        "name": read["mc_name"].value,
        "size_mib": read["size_mb"].map(int),
        "correctable": correctable,
        "uncorrectable": uncorrectable,
        "seconds": read["seconds_since_reset"].map(int),
        "modules": _read_modules(host, f"{CONTROLLERS}/{name}") if counted else [],
    }


def _read_modules(host: Host, folder: str) -> list[dict]:
    """Read the modules, or ranks, with errors, by label, which names the slot if it was set."""
    found = []
    for name in host.list(folder):
        if re.fullmatch(r"(?:dimm|rank)\d{1,4}", name):
            read = host.read_attributes(f"{folder}/{name}", _MODULE)
            correctable, uncorrectable = read["dimm_ce_count"].map(int), read["dimm_ue_count"].map(int)
            if correctable.value or uncorrectable.value:
                found.append({"module": read["dimm_label"].value or name, "correctable": correctable.value or 0,
                              "uncorrectable": uncorrectable.value or 0})
    return found


def find_errors(lines: list[dict]) -> dict:
    """Count the lines that report a hardware error and those of uncorrected errors; return the first ones too."""
    texts = [line["text"] for line in lines if MARK in line["text"]]
    return {"lines": len(texts), "uncorrected": sum(1 for text in texts if _UNCORRECTED.search(text)),
            "first": texts[:SHOWN]}
