# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Failed GPU initialisations of NVIDIA's driver, from the kernel log.

The driver initialises a GPU when its node is opened. If that fails, it logs RmInitAdapter() with three codes, then
rm_init_adapter() with the minor number; the cause, if known, is in the lines before. Sources:
src/nvidia/arch/nvalloc/unix/src/osinit.c and kernel-open/nvidia/nv.c of github.com/NVIDIA/open-gpu-kernel-modules.
"""
from __future__ import annotations

import re

from .._pci.address import kernel_address

CAUSE_LIMIT = 3         # lines before a failure that are kept as its cause

_FAILED = re.compile(r"NVRM: (?:GPU ?([0-9a-fA-F:.]+):? )?(RmInitAdapter failed!|rm_init_adapter failed)")
_MINOR = re.compile(r"minor number (\d{1,3})\b")
# The driver was (re)loaded; failures logged before do not count.
_LOADED = "NVRM: loading "


def parse_init_failures(lines: list[dict]) -> list[dict]:
    """The failures since the driver was loaded, in log order: `[{bdf, minor, seconds, text, causes}]`.

    `lines` are those of the kernel log, `[{seconds, text}]`. `bdf` or `minor` is None if the lines do not name it; up
    to the 390 branch they name only the minor number. `text` is the line, `causes` the driver's lines before it.
    """
    found: list[dict] = []
    causes: list[str] = []
    for line in lines:
        text = line["text"]
        if text.startswith(_LOADED):
            found, causes = [], []
            continue
        failed = _FAILED.search(text)
        if failed is None:
            if text.startswith("NVRM: "):
                causes.append(text)
            continue
        failure = {"bdf": _address(failed[1]), "minor": _minor(text), "seconds": line["seconds"], "text": text,
                   "causes": causes[-CAUSE_LIMIT:]}
        if failed[2].startswith("rm_init") and found and _is_end_of(found[-1], failure):
            found[-1].update(bdf=found[-1]["bdf"] or failure["bdf"], minor=failure["minor"])
        else:
            found.append(failure)
        causes = []
    return found


def _is_end_of(failure: dict, end: dict) -> bool:
    """Whether a line of rm_init_adapter() belongs to the failure that RmInitAdapter() logged before it."""
    same = end["bdf"] is None or failure["bdf"] in (None, end["bdf"])
    return same and failure["minor"] is None and not end["causes"]


def _address(text: str | None) -> str | None:
    address = kernel_address(text.rstrip(":")) if text else None
    return address if address is not None and "." in address else None


def _minor(text: str) -> int | None:
    minor = _MINOR.search(text)
    return int(minor[1]) if minor else None


def attribute(failures: list[dict], gpus: list[dict]) -> list[dict]:
    """The failures as `[{bdf, ...}]`, minor numbers replaced by addresses.

    `gpus` are those that the driver has, `[{bdf, minor}]`. A failure that names no GPU is attributed to the only GPU;
    if there are several, `bdf` stays None.
    """
    by_minor = {gpu["minor"]: gpu["bdf"] for gpu in gpus if gpu["minor"] is not None}
    only = gpus[0]["bdf"] if len(gpus) == 1 else None
    return [{"bdf": failure["bdf"] or (only if failure["minor"] is None else by_minor.get(failure["minor"])),
             **{key: failure[key] for key in ("seconds", "text", "causes")}} for failure in failures]
