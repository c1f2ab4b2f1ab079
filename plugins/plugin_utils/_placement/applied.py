# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""placement-applied.json: the applied part of the proposal, with the previous options that restore it."""
from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from .._records import host_folder
from .document import FILE, SCHEMA

RECORD = "placement-applied.json"
SCHEMA_APPLIED = "gpuhost.placement_applied/1"
Values = dict[str, dict[str, dict[str, Any]]]      # by subject, {set, only_from}


def proposed_values(folder: pathlib.Path) -> Values:
    """What the last audit proposed for VMs. RecordError if there was no proposal."""
    document = host_folder.read_document(folder / FILE, SCHEMA)
    if document is None:
        raise host_folder.RecordError(f"{folder / FILE} is missing: audit the host first")
    return {guest["subject"]: guest["options"] for guest in document["guests"] if guest["options"]}


def recorded_values(folder: pathlib.Path) -> Values:
    """The values that undo all that was set here; empty if nothing was."""
    document = host_folder.read_document(folder / RECORD, SCHEMA_APPLIED)
    return document["values"] if document else {}


def record(folder: pathlib.Path, host: str, at: str, values: Mapping[str, Any]) -> None:
    """Record how to undo values, before they are set. An earlier record is kept, as it has the oldest state."""
    back: Values = recorded_values(folder)
    for subject, options in values.items():
        old = back.get(subject, {"set": {}, "only_from": {}})
        back[subject] = {"set": {**options["only_from"], **old["set"]},
                         "only_from": {**old["only_from"], **options["set"]}}
    _write(folder, host, at, back)


def forget(folder: pathlib.Path, host: str, at: str, subjects: Iterable[str]) -> None:
    """Remove guests that are restored: nothing of them is left to undo."""
    gone = set(subjects)
    _write(folder, host, at, {subject: options for subject, options in recorded_values(folder).items()
                              if subject not in gone})


def _write(folder: pathlib.Path, host: str, at: str, back: Values) -> None:
    if back:
        host_folder.write_json(folder / RECORD, {"schema": SCHEMA_APPLIED, "host": host, "written_at": at,
                                                 "values": back})
    elif (folder / RECORD).exists():
        os.unlink(folder / RECORD)
