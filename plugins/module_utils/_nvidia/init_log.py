# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""GPUs that NVIDIA's driver tried to initialise and could not, by the kernel log.

The driver initialises a GPU when its node is opened. Where that fails it logs RmInitAdapter() with three codes, and
behind it rm_init_adapter() with the minor number; the cause, if it knows one, stands in the lines before. Source:
src/nvidia/arch/nvalloc/unix/src/osinit.c and kernel-open/nvidia/nv.c of github.com/NVIDIA/open-gpu-kernel-modules.
"""
from __future__ import annotations

import re

from .._pci.address import kernel_address

CAUSE_LIMIT = 3         # lines before a failure that are kept as its cause

_FAILED = re.compile(r"NVRM: (?:GPU ?([0-9a-fA-F:.]+):? )?(RmInitAdapter failed!|rm_init_adapter failed)")
_MINOR = re.compile(r"minor number (\d{1,3})\b")
# The driver was loaded (again): what an earlier one could not do says nothing about this one.
_LOADED = "NVRM: loading "


def parse_init_failures(lines: list[dict]) -> list[dict]:
    """The failures since the driver was loaded, in the order of the log: `[{bdf, minor, seconds, text, causes}]`.

    `lines` are those of the kernel log, `[{seconds, text}]`. `bdf` or `minor` is None where the lines do not say it:
    up to the 390 branch they name the minor number only. `text` is the line, `causes` those of the driver before it.
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
    """Whether a line of rm_init_adapter() closes the failure that the line before it opened."""
    same = end["bdf"] is None or failure["bdf"] in (None, end["bdf"])
    return same and failure["minor"] is None and not end["causes"]


def _address(text: str | None) -> str | None:
    address = kernel_address(text.rstrip(":")) if text else None
    return address if address is not None and "." in address else None


def _minor(text: str) -> int | None:
    minor = _MINOR.search(text)
    return int(minor[1]) if minor else None


def attribute(failures: list[dict], gpus: list[dict]) -> list[dict]:
    """The failures with the address of the GPU where the lines name its minor number only: `[{bdf, ...}]` without it.

    `gpus` are those that the driver has, `[{bdf, minor}]`. Lines that name nothing are those of the only GPU, where
    there is only one; else `bdf` stays None.
    """
    by_minor = {gpu["minor"]: gpu["bdf"] for gpu in gpus if gpu["minor"] is not None}
    only = gpus[0]["bdf"] if len(gpus) == 1 else None
    return [{"bdf": failure["bdf"] or (only if failure["minor"] is None else by_minor.get(failure["minor"])),
             **{key: failure[key] for key in ("seconds", "text", "causes")}} for failure in failures]
