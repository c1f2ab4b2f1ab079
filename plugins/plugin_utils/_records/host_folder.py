# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The report folder on the controller: its layout, allowed names, and atomic writing of files."""
from __future__ import annotations

import contextlib
import datetime
import json
import os
import pathlib
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from . import modes

# Files of an audit in a host's folder, in addition to audit.json and its reports.
LINES, HISTORY, ROW, OUTCOME = "findings.jsonl", "history.json", "fleet.json", "outcome.json"
SCHEMA_VALUES = "gpuhost.values/1"
SCHEMA_AUDIT = "gpuhost.audit/2"
SCHEMA_OUTCOME = "gpuhost.outcome/1"
RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")
# Files next to the hosts' folders: no host can have such a name.
FLEET_FILES = ("index.html", "fleet.md", "findings.jsonl", "findings.csv", "facts.csv", "last-run.json",
               "last-watch.json", "prometheus", ".fleet.lock", ".last-run.json.lock", ".last-runs", ".clusters",
               ".rollouts")


class RecordError(Exception):
    """A record cannot be written or read; the message says which one, why and what to do."""


def new_run_id(now: datetime.datetime | None = None) -> str:
    """`20261129T183000Z-4f2a`: the time in UTC, and four random digits to tell runs of one second apart."""
    now = now or datetime.datetime.now(datetime.timezone.utc)
    return f"{now.strftime('%Y%m%dT%H%M%SZ')}-{secrets.token_hex(2)}"


def check_run_id(text: str) -> str:
    if not RUN_ID.fullmatch(text):
        raise RecordError(f"run id {text!r} does not have the form 20261129T183000Z-4f2a")
    return text


class RunsFolder:
    """A folder directly below the report folder, with one folder per run."""

    def __init__(self, report_dir: str, name: str) -> None:
        self.path = pathlib.Path(os.path.abspath(os.path.expanduser(report_dir))) / name

    def run(self, run_id: str) -> pathlib.Path:
        return self.path / check_run_id(run_id)

    def runs(self) -> list[str]:
        """The ids of the recorded runs, oldest first."""
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        return sorted(name for name in names if RUN_ID.fullmatch(name))


class HostFolder(RunsFolder):
    """`<report_dir>/<inventory_hostname>`: the records of one host."""

    def __init__(self, report_dir: str, host: str) -> None:
        if host in ("", ".", "..", *FLEET_FILES) or "/" in host or "\0" in host:
            raise RecordError(f"inventory_hostname {host!r} cannot be used as a directory name: rename the host in "
                              "the inventory")
        super().__init__(report_dir, host)


def write_text(path: pathlib.Path, text: str) -> None:
    """Write `text` to `path` atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: pathlib.Path, data: bytes) -> None:
    """Write `data` to `path` atomically."""
    with replacing(path) as stream:
        stream.write(data)


@contextlib.contextmanager
def replacing(path: pathlib.Path) -> Iterator[BinaryIO]:
    """A temporary file that replaces `path` once it is complete."""
    try:
        modes.make_folder(path.parent)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb", buffering=1 << 16) as stream:
                yield stream
            publish(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise RecordError(f"cannot write {path}: {error.strerror}. "
                          "Choose another directory with gpuhost_report_dir") from error


def publish(name: str, path: pathlib.Path) -> None:
    """Move a finished temporary file to `path` and set the mode for files of that name."""
    os.chmod(name, modes.of_file(path))
    os.replace(name, path)


def write_json(path: pathlib.Path, document: Any) -> None:
    write_text(path, json.dumps(document, indent=1, sort_keys=False, ensure_ascii=False) + "\n")


def write_audit(path: pathlib.Path, document: dict[str, Any]) -> None:
    """Write an audit document with one line per section of the facts and per finding: lines can be diffed and searched,
    and this is much faster than indenting."""
    with replacing(path) as stream:
        stream.writelines(map(str.encode, _lines(document)))


def _lines(document: dict[str, Any]) -> Iterator[str]:
    # A host with 256 CPUs and 40 containers has tens of thousands of values: spaces between them would be a tenth.
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
    start = "{\n"
    for key, part in document.items():
        yield f"{start} {encode(key)}: "
        if isinstance(part, dict):
            yield from _apart("{", (f"{encode(name)}: {encode(found)}" for name, found in part.items()), "}")
        elif isinstance(part, list):
            yield from _apart("[", map(encode, part), "]")
        else:
            yield encode(part)
        start = ",\n"
    yield "\n}\n"


def _apart(left: str, entries: Iterable[str], right: str) -> Iterator[str]:
    """Each entry on its own line."""
    yield left
    comma = ""
    for entry in entries:
        yield f"{comma}\n  {entry}"
        comma = ","
    yield right


def write_compact(path: pathlib.Path, document: Any) -> None:
    """Write a file that only this collection reads; in ASCII, so that any text from a host can be written."""
    write_text(path, json.dumps(document, separators=(",", ":"), check_circular=False) + "\n")


def read_json(path: pathlib.Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise RecordError(f"{path} is not JSON: {error}") from error


def identity(path: pathlib.Path) -> list[int]:
    """The state of a file that something was made from: if size or time differ, it is made again."""
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns]


def read_document(path: pathlib.Path, schema: str) -> dict[str, Any] | None:
    """A record of this schema; None if there is no file. RecordError if the file is something else."""
    if not path.exists():
        return None
    document = read_json(path)
    found = document.get("schema") if isinstance(document, dict) else type(document).__name__
    if found != schema:
        raise RecordError(f"{path} has the schema {found!r}, wanted {schema!r}: measure again")
    return document


def shown_path(path: pathlib.Path) -> str:
    """The path for display, relative if it is below the current folder."""
    try:
        return str(path.relative_to(os.getcwd()))
    except ValueError:
        return str(path)
