# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""/run/gpuhost/boot.json: the outcome of each value that is set at boot, for the current boot."""
from __future__ import annotations

import errno
import json
import os
from typing import Any

from .._host.host import Host
from .._host.reading import Reading, error_text, from_error, ok
from .._host.run_folder import FOLDER, RUN, open_file, open_folder, write_all
from .._one_file.version import VERSION

SCHEMA = "gpuhost.boot/1"
OUTCOME = "boot.json"
PATH = f"{RUN}/{FOLDER}/{OUTCOME}"
SIZE_LIMIT = 4 << 20
_NEW = f".{OUTCOME}.new"


def read_outcome(host: Host) -> Reading:
    """Read the document, `{schema, boot_id, run_id, version, started_at, finished_at, error, changes}`.

    Absent if gpuhost-boot has not run since boot, or is running for the first time.
    """
    try:
        folder = open_folder(host)
        try:
            handle = open_file(folder, OUTCOME, os.O_RDONLY)
        finally:
            os.close(folder)
    except OSError as error:
        return from_error(error)
    with open(handle, "rb") as stream:
        return ok(stream.read(SIZE_LIMIT)).map(_parse)


def _parse(data: bytes) -> dict[str, Any]:
    document = json.loads(data)
    if document["schema"] != SCHEMA or not isinstance(document["changes"], list):
        raise ValueError(f"its schema is {document['schema']!r}, wanted is {SCHEMA!r}")
    return document


def merge(earlier: list[dict[str, Any]], changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the changes of a pass; a value unchanged since an earlier pass of this boot keeps that pass's entry."""
    made = {change["address"]: change for change in earlier if change.get("outcome") == "changed"}
    return [made[change["address"]] if change["outcome"] == "unchanged" and change["address"] in made
            and made[change["address"]]["after"] == change["after"] else change for change in changes]


def write_outcome(host: Host, document: dict[str, Any]) -> None:
    """Write the document. Raises OSError."""
    data = json.dumps({"schema": SCHEMA, "version": VERSION, **document}, indent=1).encode() + b"\n"
    host.require_writable()
    folder = open_folder(host, create=True)
    try:
        try:
            os.unlink(_NEW, dir_fd=folder)
        except FileNotFoundError:
            pass
        handle = open_file(folder, _NEW, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            write_all(handle, data)
        finally:
            os.close(handle)
        os.rename(_NEW, OUTCOME, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


def describe_error(error: OSError) -> str:
    """Describe why the outcome could not be written."""
    return f"{PATH} could not be written: {error_text(error)}" if error.errno != errno.ENOENT else f"{RUN} is missing"
