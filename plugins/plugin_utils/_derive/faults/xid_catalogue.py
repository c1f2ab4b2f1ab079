# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""NVIDIA's catalog of Xid errors (catalogue/nvidia/xid.yml): the meaning of each number and what to do."""
from __future__ import annotations

import pathlib
import re
from typing import Any, NamedTuple

import yaml

PROGRAM, GPU = "program", "gpu"
ACTION_CHANGED = 154

_FILE = pathlib.Path(__file__).parents[2] / "catalogue" / "nvidia" / "xid.yml"
with _FILE.open(encoding="utf-8") as _stream:
    _DATA: dict[str, Any] = yaml.load(_stream, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
DATE: str = _DATA["date"]
_BUCKETS, _XIDS, _UNUSED = _DATA["buckets"], _DATA["xids"], frozenset(_DATA["unused"])
_ACTIONS: dict[str, str | None] = _DATA["recovery_actions"]
_UNUSED_IGNORED = frozenset((14, 108))

# `..., RLW_CTRL Nonfatal XC0 i0 Link 00 (0x00000003 0x80000000 ...)`
_NVLINK5 = re.compile(r"\b(?P<units>[A-Z][A-Z0-9_/]+) (?:Non-?fatal|Fatal)\b"
                      r".*?\((?P<info>0x[0-9a-f]+) (?P<status>0x[0-9a-f]+)", re.IGNORECASE)
_CLASS = re.compile(r"\b(Non-?fatal|Fatal)\b", re.IGNORECASE)
_ACTION = re.compile(r"\bto 0x[0-9a-f]+ \(([^)]*)\)", re.IGNORECASE)
_LINK_ERRORS = range(144, 151)
_REASON_SHIFT, _REASON_MASK = 20, 0x3F      # of IntrInfo


class Meaning(NamedTuple):
    """The meaning of an Xid line: `about` is PROGRAM or GPU, `priority` one of P0, P1, P2, `todo` what to do."""

    about: str
    priority: str
    words: str
    todo: str | None


def meaning(number: int, text: str) -> Meaning:
    """The meaning of Xid `number` in the log line `text`."""
    if number == ACTION_CHANGED:
        return _action_changed(text)
    if number in _UNUSED:
        bucket = "IGNORE" if number in _UNUSED_IGNORED else "CONTACT_SUPPORT"
        return _of_bucket(GPU, bucket, f"an unused number according to NVIDIA's catalog of {DATE}")
    entry = _XIDS.get(number)
    if entry is None:
        return Meaning(GPU, "P2", f"not in NVIDIA's catalog of {DATE}", None)
    if "bucket" not in entry:
        return Meaning(entry["about"], entry["priority"], entry["words"], "no action in the catalog")
    if number in _LINK_ERRORS:
        return _link_error(number, text, entry)
    return _of_bucket(entry["about"], entry["bucket"], entry["words"])


def recovery_action(text: str) -> str | None:
    """The recovery action in an Xid 154 line, the string `None` for no action; None if the line has none."""
    found = _ACTION.search(text)
    return found[1].strip() if found else None


def _action_changed(text: str) -> Meaning:
    action = recovery_action(text)
    if action is None:
        return _of_bucket(GPU, "XID_154_EVAL", _XIDS[ACTION_CHANGED]["words"])
    if action == "None":
        return Meaning(GPU, "P2", "the driver requires no action any more", None)
    return Meaning(GPU, _ACTIONS.get(action) or "P0", f"the driver requires: {action}", None)


def _of_bucket(about: str, bucket: str, words: str) -> Meaning:
    return Meaning(about, _BUCKETS[bucket]["priority"], words, _BUCKETS[bucket]["words"])


def _link_error(number: int, text: str, entry: dict[str, Any]) -> Meaning:
    """The meaning of an NVLink 5 error by its rule, else by the line's own severity."""
    severity = _CLASS.search(text)
    fatal = None if severity is None else severity[1].lower() == "fatal"
    word = "" if fatal is None else ", fatal" if fatal else ", non-fatal"
    bucket = _rule(number, text) or ("IGNORE" if fatal is False else entry["bucket"])
    return _of_bucket(entry["about"], bucket, entry["words"] + word)


def _rule(number: int, text: str) -> str | None:
    """The bucket of the best matching rule; if several bits are set, the one with the worst priority."""
    line = _NVLINK5.search(text)
    if line is None:
        return None
    units = set(line["units"].upper().split("/"))
    reason, status = int(line["info"], 16) >> _REASON_SHIFT & _REASON_MASK, int(line["status"], 16)
    found = [bucket for rule in _DATA["nvlink5"] if rule["xid"] == number and units.intersection(rule["units"])
             for bucket, values in rule["buckets"].items() if _fits(rule["by"], values, reason, status)]
    return min(found, key=lambda bucket: _BUCKETS[bucket]["priority"], default=None)


def _fits(by: str, values: list[int], reason: int, status: int) -> bool:
    if by == "bits":
        return any(status & value for value in values)
    return (reason if by == "reason" else status) in values
