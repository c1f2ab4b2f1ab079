# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""measured.json: measurements on the host, by the check and subject that they are evidence for."""
from __future__ import annotations

import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from . import host_folder

MEASURED = "measured.json"
SCHEMA_MEASURED = "gpuhost.measured/1"
KINDS = ("bandwidth", "experiment")
_ENTRY = ("check", "subject", "verdict", "said")
_FIELDS = ("check", "subject", "kind", "verdict", "said", "run_id", "measured_at", "boot_id")
# The host as a whole has no subject; the boot id cannot be read everywhere.
_MAY_BE_NULL = ("subject", "boot_id")


def read_measured(folder: pathlib.Path) -> list[dict[str, Any]]:
    """The entries of a host's folder, each `{check, subject, kind, verdict, said, run_id, measured_at, boot_id}`; none
    if nothing was measured. RecordError says what is wrong with an invalid file."""
    path = folder / MEASURED
    if not path.exists():
        return []
    document = host_folder.read_json(path)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA_MEASURED:
        found = document.get("schema") if isinstance(document, dict) else type(document).__name__
        raise host_folder.RecordError(f"{path} has the schema {found!r}, wanted {SCHEMA_MEASURED!r}: move it away and "
                                      "measure again")
    findings = document.get("findings")
    if not isinstance(findings, list):
        raise host_folder.RecordError(f"{path} has no list of findings: move it away and measure again")
    return [_entry(path, number, entry) for number, entry in enumerate(findings, 1)]


def _entry(path: pathlib.Path, number: int, entry: Any) -> dict[str, Any]:
    wrong = None
    if not isinstance(entry, dict):
        wrong = f"is not a mapping but {type(entry).__name__}"
    else:
        wrong = next((f"has {name} {entry.get(name)!r}, wanted a text" for name in _FIELDS
                      if not isinstance(entry.get(name), str) and not (
                          name in _MAY_BE_NULL and name in entry and entry[name] is None)), None)
        if wrong is None and entry["kind"] not in KINDS:
            wrong = f"has kind {entry['kind']!r}, wanted {' or '.join(KINDS)}"
    if wrong:
        raise host_folder.RecordError(f"finding {number} of {path} {wrong}: move the file away and measure again")
    return {name: entry[name] for name in _FIELDS}


def add_measured(folder: pathlib.Path, kind: str, run_id: str, measured_at: str, boot_id: str | None,
                 entries: Iterable[Mapping[str, Any]]) -> None:
    """Save the entries `{check, subject, verdict, said}` of one run. Each replaces an earlier one of the same kind,
    check and subject; other entries stay."""
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} of a measurement, wanted {' or '.join(KINDS)}")
    run = {"kind": kind, "run_id": run_id, "measured_at": measured_at, "boot_id": boot_id}
    fresh = [{**{name: entry[name] for name in _ENTRY}, **run} for entry in entries]
    replaced = {(kind, entry["check"], entry["subject"]) for entry in fresh}
    kept = [entry for entry in read_measured(folder)
            if (entry["kind"], entry["check"], entry["subject"]) not in replaced]
    findings = [{name: entry[name] for name in _FIELDS} for entry in [*kept, *fresh]]
    host_folder.write_json(folder / MEASURED, {"schema": SCHEMA_MEASURED, "findings": findings})
