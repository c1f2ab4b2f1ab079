# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""placement-applied.json: what was set of the proposal, with the old options that bring it back."""
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
    """What the last audit proposed for VMs. RecordError where there was none."""
    document = host_folder.read_document(folder / FILE, SCHEMA)
    if document is None:
        raise host_folder.RecordError(f"{folder / FILE} is missing: audit the host first")
    return {guest["subject"]: guest["options"] for guest in document["guests"] if guest["options"]}


def recorded_values(folder: pathlib.Path) -> Values:
    """What takes back all that was set here; empty where nothing was."""
    document = host_folder.read_document(folder / RECORD, SCHEMA_APPLIED)
    return document["values"] if document else {}


def record(folder: pathlib.Path, host: str, at: str, values: Mapping[str, Any]) -> None:
    """Put down, before anything is set, how it is taken back. What was recorded before stays the oldest state."""
    back: Values = recorded_values(folder)
    for subject, options in values.items():
        old = back.get(subject, {"set": {}, "only_from": {}})
        back[subject] = {"set": {**options["only_from"], **old["set"]},
                         "only_from": {**old["only_from"], **options["set"]}}
    _write(folder, host, at, back)


def forget(folder: pathlib.Path, host: str, at: str, subjects: Iterable[str]) -> None:
    """These are as they were: nothing of them is to be taken back any more."""
    gone = set(subjects)
    _write(folder, host, at, {subject: options for subject, options in recorded_values(folder).items()
                              if subject not in gone})


def _write(folder: pathlib.Path, host: str, at: str, back: Values) -> None:
    if back:
        host_folder.write_json(folder / RECORD, {"schema": SCHEMA_APPLIED, "host": host, "written_at": at,
                                                 "values": back})
    elif (folder / RECORD).exists():
        os.unlink(folder / RECORD)
