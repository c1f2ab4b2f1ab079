# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Driver errors of earlier boots, in sentences; they do not count for this boot."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..reading import known, lost
from .xid import is_harm
from .xid_catalogue import ACTION_CHANGED

_LONGEST = 160      # characters of a line that is quoted


def earlier_boots(kernel: dict[str, Any]) -> dict[str, Any]:
    """A reading of sentences, the newest boot first: `Xid 79 of 0000:41:00, 3 times, in the boot before this one`."""
    reading = kernel["earlier_boots"]
    if reading["status"] != "ok":
        return lost(reading["status"])
    return known([f"{what}, {_when(boot['boot'])}" for boot in reading["value"] for what in _said(boot)])


def boots_with_harm(kernel: dict[str, Any]) -> int:
    """In how many earlier boots the same GPU had an Xid after which it was unusable; of several GPUs the most."""
    reading = kernel["earlier_boots"]
    boots: dict[str, set[int]] = {}
    for boot in reading["value"] if reading["status"] == "ok" else []:
        for xid in boot["xids"]:
            if _is_harm(xid["xid"]):
                boots.setdefault(xid["bdf"], set()).add(boot["boot"])
    return max(map(len, boots.values()), default=0)


def _is_harm(number: int) -> bool:
    """By the number alone: the lines are not kept."""
    return number != ACTION_CHANGED and is_harm({"xid": number, "text": ""})


def _said(boot: dict[str, Any]) -> Iterator[str]:
    for xid in boot["xids"]:
        times = f", {xid['count']} times" if xid["count"] > 1 else ""
        yield f"Xid {xid['xid']} of {xid['bdf']}{times}"
    for mismatch in boot["mismatches"]:
        yield _mismatch(mismatch)
    for failure in boot["init_failures"]:
        of = f" of {failure['bdf']}" if failure["bdf"] else ""
        yield f"the driver could not initialise a GPU{of} ({failure['text'][:_LONGEST]})"


def _mismatch(entry: dict[str, Any]) -> str:
    who = "nvidia-modeset.ko" if entry["what"] == "modeset" else entry["client"] or "a program"
    if entry["client_version"] is None or entry["module_version"] is None:
        return f"API mismatch ({entry['text'][:_LONGEST]})"
    return f"API mismatch: {who} was {entry['client_version']}, the driver {entry['module_version']}"


def _when(boot: int) -> str:
    return "in the boot before this one" if boot == -1 else f"{-boot} boots before this one"
