# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Logged errors of NVIDIA GPUs (Xid) and NVSwitches (SXid), in sentences for each device."""
from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Callable

from ..reading import value
from .xid_catalogue import ACTION_CHANGED, GPU, PROGRAM, meaning, recovery_action

_KEYS = {"P0": "broken", "P1": "follow_up", "P2": "noted"}
NOTHING = "None"        # printed by nvidia-smi and the driver for: no action


def is_harm(xid: dict[str, Any]) -> bool:
    """Whether an entry of `nvidia.xids` means that the GPU is unusable, or its results doubtful, until a reset."""
    entry = meaning(xid["xid"], xid["text"])
    return entry.about == GPU and entry.priority == "P0"


def xids_by_device(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """`[{bdf, broken, follow_up, noted, program, history, earlier_boots}]`: the Xids of every NVIDIA GPU, in sentences.

    `broken` (P0), `follow_up` (P1) and `noted` (P2) follow NVIDIA's catalog; `program` are application errors;
    `history` was resolved in this boot: the driver later reported that no action is needed, or it named an action and
    nvidia-smi now reports none. The driver names a GPU without its function. An address without a GPU is listed too:
    the GPU may have fallen off the bus.
    """
    own = {gpu["bdf"].rpartition(".")[0]: gpu["bdf"] for gpu in facts["gpus"]
           if gpu["vendor"] == "10de" and not gpu["virtual_function"]}

    def action_of(bdf: str) -> str | None:
        return next((gpu["recovery_action"] for gpu in facts["nvidia"]["smi"]["gpus"]
                     if gpu["bdf"] == bdf and not gpu["trouble"]), None)

    logged: dict[str, list[dict]] = {address: [] for address in own}
    for xid in value(facts["nvidia"]["xids"]) or []:
        logged.setdefault(xid["bdf"], []).append(xid)
    earlier: dict[str, list[dict]] = {}
    for xid in value(facts["nvidia"]["xids_of_earlier_boots"]) or []:
        earlier.setdefault(xid["bdf"], []).append(xid)
    return [{"bdf": (bdf := own.get(address, address)), **_sentences(xids, functools.partial(action_of, bdf)),
             "earlier_boots": [f"Xid {one['xid']}{_times(one['count'])}" for one in earlier.get(address, [])]}
            for address, xids in logged.items()]


def _sentences(xids: list[dict], action: Callable[[], str | None]) -> dict[str, list[str]]:
    """The sentences of one device by key; `action` returns nvidia-smi's current recovery action, None if unknown."""
    over = _dealt_with(xids, action)
    classes: dict[str, list[dict]] = {name: [] for name in (*_KEYS.values(), "program", "history")}
    for position, xid in enumerate(xids):
        entry = meaning(xid["xid"], xid["text"])
        if xid["xid"] == ACTION_CHANGED and recovery_action(xid["text"]) == NOTHING:
            continue
        name = "program" if entry.about == PROGRAM else "history" if position < over else _KEYS[entry.priority]
        classes[name].append(xid)
    return {name: list(_counted(entries)) for name, entries in classes.items()}


def _dealt_with(xids: list[dict], action: Callable[[], str | None]) -> int:
    """How many of the first entries are history.

    Only a driver that reports recovery actions can withdraw one: without an Xid 154 an error stands, whatever
    nvidia-smi reports.
    """
    changes = [(position, wanted) for position, xid in enumerate(xids) if xid["xid"] == ACTION_CHANGED
               and (wanted := recovery_action(xid["text"])) is not None]
    if not changes:
        return 0
    position, last = changes[-1]
    if last == NOTHING:
        return position + 1
    return len(xids) if action() == NOTHING else 0


def _counted(xids: Iterable[dict]) -> Iterable[str]:
    """One sentence for each number and meaning, with the number of occurrences."""
    counts: dict[tuple[int, str], int] = {}
    for xid in xids:
        entry = meaning(xid["xid"], xid["text"])
        sentence = entry.words if entry.todo is None else f"{entry.words} ({entry.todo})"
        counts[xid["xid"], sentence] = counts.get((xid["xid"], sentence), 0) + 1
    return [f"Xid {number}{_times(times)}: {sentence}" for (number, sentence), times in sorted(counts.items())]


def _times(times: int) -> str:
    return f", {times} times" if times > 1 else ""


def sxids_by_switch(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """`[{bdf, fatal, other}]`: this boot's SXids of every NVSwitch, in sentences; switches without any are listed."""
    found: dict[str, dict[str, dict]] = {bdf: {} for bdf in facts["pcie"]["nvswitches"]}
    for sxid in value(facts["nvidia"]["sxids"]) or []:
        entries = found.setdefault(sxid["bdf"], {})
        entry = entries.setdefault((sxid["fatal"], sxid["sxid"]), {"count": 0, "text": sxid["text"]})
        entry["count"] += 1
    return [{"bdf": bdf, **{name: [f"SXid {number}{_times(entry['count'])}: {_message(entry['text'])}"
                                   for (is_fatal, number), entry in sorted(entries.items()) if is_fatal is fatal]
                            for name, fatal in (("fatal", True), ("other", False))}}
            for bdf, entries in found.items()]


def _message(text: str) -> str:
    """The message within the line, such as `Link 30 LTSSM Fault Up`."""
    return text.split(", ", 2)[-1]
