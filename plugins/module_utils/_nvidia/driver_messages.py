# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Kernel log messages of NVIDIA's modules other than Xids: NVSwitch errors, version mismatches, required resets.

Sources in open-gpu-kernel-modules: src/common/nvswitch/kernel (SXid), kernel-open/nvidia/nv.c and
kernel-open/nvidia-modeset/nvidia-modeset-linux.c (versions), src/nvidia/arch/nvalloc (NV_ERR_RESET_REQUIRED).
"""
from __future__ import annotations

import re

from .._pci.address import kernel_address

SXID_LIMIT = 5000       # the newest errors
MISMATCH_LIMIT = 20     # clients; a process in a container can choose any name
RESET_LIMIT = 5         # lines shown
SEEN = 500              # characters of a line
MANY = 100              # repetitions of a helper module's message that are worth reporting
_BEHIND = 3             # lines after the first: the driver prints a mismatch in four

# `nvidia-nvswitch2: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up`. Continuation lines
# have "Severity 5 Engine instance ..." or "Data {...}" in place of the class.
_SXID = re.compile(r"\bSXid \(PCI:([0-9a-fA-F:.]+)\): (\d{1,6}), (Fatal|Non-fatal), ", re.IGNORECASE)
_CLIENT = re.compile(r"NVRM: API mismatch: the client (?:'(?P<name>[^']*)' )?(?:\(pid \d+\)\s*)?")
_HAS = re.compile(r"has the version (\d[\w.-]*\w)")
_MODESET = re.compile(r"nvidia-modeset: Version mismatch")
_PAIR = re.compile(r"nvidia\.ko\(([^)]*)\),? nvidia-modeset\.ko\(([^)]*)\)")
_RESET = re.compile(r"NVRM: .*(?:NV_ERR_RESET_REQUIRED|\breset (?:is )?required\b"
                    r"|\brequires (?:an? )?(?:\w+ )?(?:reset|reboot)\b"
                    r"|requiring (?:os )?(?:reboot|reset) to recover)", re.IGNORECASE)
_XID = re.compile(r"\bXid \(")
# Helper modules of the driver; their messages say nothing about the GPU's health.
_HELPER = re.compile(r"^\W*(nvidia[-_](?:peermem|fs|uvm|drm|modeset)|nv_peer_mem|gdrdrv)\b")
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")


def parse_sxids(lines: list[dict]) -> list[dict]:
    """NVSwitch errors among log lines `[{seconds, text}]`, in log order: `[{bdf, sxid, fatal, seconds, text}]`."""
    found = []
    for line in lines:
        match = _SXID.search(line["text"]) if "SXid" in line["text"] else None
        address = kernel_address(match[1]) if match else None
        if match is not None and address is not None:
            found.append({"bdf": address, "sxid": int(match[2]), "fatal": match[3].lower() == "fatal",
                          "seconds": line["seconds"], "text": line["text"]})
    return found[-SXID_LIMIT:]


def parse_mismatches(lines: list[dict]) -> list[dict]:
    """Version mismatches that the driver rejected: `[{what, client, client_version, module_version, text}]`.

    `what` is api for a program and its libraries, modeset for nvidia-modeset.ko; None for what a line omits.
    """
    found: dict[tuple, dict] = {}
    for position, line in enumerate(lines):
        text = line["text"]
        client = _CLIENT.search(text) if "API mismatch" in text else None
        if client is not None:
            theirs, ours = (*_versions(lines[position:position + 1 + _BEHIND]), None, None)[:2]
            entry = {"what": "api", "client": client["name"], "client_version": theirs, "module_version": ours}
        elif _MODESET.search(text):
            pair = _PAIR.search(text)
            entry = {"what": "modeset", "client": None, "client_version": pair[2] if pair else None,
                     "module_version": pair[1] if pair else None}
        else:
            continue
        found.setdefault(tuple(entry.values()), {**entry, "text": text.partition("\n")[0]})
    return list(found.values())[-MISMATCH_LIMIT:]


def _versions(lines: list[dict]) -> list[str]:
    """The versions of the client and of the driver in a mismatch that begins with the first line. Where its further
    lines are missing, the next mismatch may follow at once."""
    message = lines[:1]
    for line in lines[1:]:
        if _CLIENT.search(line["text"]):
            break
        message.append(line)
    return _HAS.findall(" ".join(line["text"] for line in message))[:2]


def parse_resets(lines: list[dict]) -> list[str]:
    """The distinct lines, other than Xid errors, in which the driver asks for a reset or reboot; the newest last."""
    found = dict.fromkeys(text for line in lines if "NVRM" in (text := line["text"][:SEEN])
                          and _RESET.search(text) and not _XID.search(text))
    return list(found)[-RESET_LIMIT:]


def parse_repeats(lines: list[dict]) -> list[dict]:
    """Messages that a helper module logged at least MANY times, ignoring numbers: `[{module, text, count}]`."""
    counts: dict[tuple[str, str], list] = {}
    for line in lines:
        helper = _HELPER.match(line["text"])
        if helper is not None:
            entry = counts.setdefault((helper[1], _NUMBERS.sub("#", line["text"])), [line["text"], 0])
            entry[1] += 1
    return [{"module": module.replace("-", "_"), "text": text, "count": count}
            for (module, _said), (text, count) in counts.items() if count >= MANY]
