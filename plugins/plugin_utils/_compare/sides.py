# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Find the two audits to compare: of hosts in the report folder, of one of their runs, or from a file."""
from __future__ import annotations

import os
import pathlib
import re
from typing import Any, NamedTuple

from .._records import host_folder

AUDIT, AFTER = "audit.json", "after.json"
SCHEMAS = ("gpuhost.audit/1", host_folder.SCHEMA_AUDIT)
_WANTED = "wanted is a list of two: hosts of the report folder, HOST/RUN_ID, or paths of audit.json files"
_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9._@-]+")


class Side(NamedTuple):
    """`name` is the name in the comparison, `path` the location of the audit."""

    name: str
    path: pathlib.Path
    document: dict[str, Any]


def sides(report_dir: str, given: list[str]) -> tuple[Side, Side]:
    """The two audits named by `given`. RecordError: there are not two, or one is not an audit."""
    if len(given) != 2:
        raise host_folder.RecordError(f"gpuhost_compare: {_WANTED}; found {len(given)}")
    found = [_read(_path(report_dir, name)) for name in given]
    if found[0].path == found[1].path:
        raise host_folder.RecordError(f"gpuhost_compare: both are {found[0].path}: name two audits")
    # Two audits with the same name are distinguished by time.
    names = [side.name for side in found]
    if names[0] == names[1]:
        names = [f"{side.name}@{side.document['collected_at']}" for side in found]
    first, second = (side._replace(name=name) for side, name in zip(found, names))
    if first.name == second.name:
        first, second = first._replace(name=f"{first.name} (1)"), second._replace(name=f"{second.name} (2)")
    return first, second


def file_name(first: str, second: str) -> str:
    """`compare-pve1-pve2`, without characters that are invalid in file names."""
    return "compare-" + "-".join(_NO_FILE_NAME.sub("_", name)[:80] for name in (first, second))


def _path(report_dir: str, given: str) -> pathlib.Path:
    reports = pathlib.Path(os.path.abspath(os.path.expanduser(report_dir)))
    of_host = reports / given / AUDIT
    host, slash, run_id = given.partition("/")
    of_run = reports / host / run_id / AFTER
    as_file = pathlib.Path(os.path.abspath(os.path.expanduser(given)))
    if of_host.is_file():
        return of_host
    if slash and host_folder.RUN_ID.fullmatch(run_id):
        if not of_run.is_file():
            raise host_folder.RecordError(f"gpuhost_compare: the run {given} has left no audit: there is no {of_run}. "
                                          "Only a tune that was not a check leaves one")
        return of_run
    if as_file.is_dir() and (as_file / AUDIT).is_file():
        return as_file / AUDIT
    if as_file.is_file():
        return as_file
    known = ", ".join(sorted(path.parent.name for path in reports.glob(f"*/{AUDIT}"))[:10])
    raise host_folder.RecordError(f"gpuhost_compare: {given!r} is neither an audited host below {reports} "
                                  f"({known or 'which has none'}) nor a file: audit the host, or name the file")


def _read(path: pathlib.Path) -> Side:
    document = host_folder.read_json(path)
    schema = document.get("schema") if isinstance(document, dict) else type(document).__name__
    if schema not in SCHEMAS:
        raise host_folder.RecordError(f"{path} is no audit: its schema is {schema!r}, wanted {SCHEMAS[-1]}")
    lacking = [name for name in ("host", "collected_at", "facts", "findings", "profile") if name not in document]
    if lacking:
        raise host_folder.RecordError(f"{path} is no whole audit: it has no {', '.join(lacking)}. Audit the host again")
    return Side(str(document["host"]), path, document)
