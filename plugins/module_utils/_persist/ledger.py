# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""/var/lib/gpuhost/persisted.json: the persisted values, since when, and which files are ours.

It is written before the first file and removed after the last one, so that an interruption in between is detected.
"""
from __future__ import annotations

import json
from typing import Any

from .._host.host import Host
from .._host.reading import Reading
from .paths import LEDGER

SCHEMA = "gpuhost.persisted/1"
_TEXTS = ("run_id", "version", "created_at")
_MAPPINGS = ("values", "baseline", "files")
_LISTS = ("folders", "left_out")
# Keys that do not concern what is persisted.
_OF_THE_RUN = ("run_id", "created_at", "next")


def read_ledger(host: Host) -> Reading:
    """Read the document; absent if nothing is persisted, unparsable if the file is no ledger."""
    return host.read(LEDGER).map(parse_ledger)


def parse_ledger(text: str) -> dict[str, Any]:
    """Parse `{schema, run_id, version, created_at, values, baseline, files, folders, left_out, next}`.

    `files` has `{sha256, mode}` for each file by its path, `{link}` for the link. `next` is null, or what a run is
    about to write: `{run_id, version, files, folders}`. Raises ValueError.
    """
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    for keys, kind in ((_TEXTS, str), (_MAPPINGS, dict), (_LISTS, list)):
        for key in keys:
            if not isinstance(document.get(key), kind):
                raise ValueError(f"{key} is missing, or not what it should be")
    following = document.get("next")
    if following is not None and not (isinstance(following, dict) and isinstance(following.get("files"), dict)
                                      and isinstance(following.get("folders"), list)):
        raise ValueError("next is not what it should be")
    return document


def new_ledger(run_id: str, version: str, created_at: str) -> dict[str, Any]:
    """Make a ledger before anything is written."""
    return {"schema": SCHEMA, "run_id": run_id, "version": version, "created_at": created_at, "values": {},
            "baseline": {}, "files": {}, "folders": [], "left_out": [], "next": None}


def make_ledger(document: dict[str, Any]) -> bytes:
    return json.dumps(document, indent=1, ensure_ascii=True).encode() + b"\n"


def says_the_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two ledgers have the same values and files, whichever run wrote them."""
    return one["next"] is None and other["next"] is None and all(
        one[key] == other[key] for key in one if key not in _OF_THE_RUN)
