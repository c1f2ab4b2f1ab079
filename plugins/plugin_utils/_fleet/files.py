# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The files next to the hosts' folders: the page, its Markdown summary, and all findings, one per line."""
from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TypeAlias

from .._records import host_folder, modes
from .._records.json_lines import findings_lines
from .._render.text import count
from .fleet import Fleet, audited, collect
from .markdown import markdown
from .pack import pack
from .page import page
from .spreadsheet import merge_tables

Summary: TypeAlias = Callable[[dict[str, dict[str, Any]], str], dict[str, Any]]


def write_fleet(report_dir: str, tables: bool = False, summarise: Summary | None = None) -> dict[str, object]:
    """Write them from the records, with `tables` also findings.csv and facts.csv; return the task's message, and what
    `summarise` returns for the rows of all hosts and the path of the page.

    Two plays may end at the same time. Each has written its hosts' files before this call, and the second one waits
    for the first and then reads the files of both: no line and no host is lost in either order.
    """
    folder = pathlib.Path(os.path.abspath(os.path.expanduser(report_dir)))
    with _alone(folder):
        fleet = collect(report_dir)
        made_at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        host_folder.write_text(folder / "index.html", page(pack(fleet, made_at)))
        host_folder.write_text(folder / "fleet.md", markdown(fleet, made_at))
        hosts = audited(report_dir)
        _merge(folder, hosts)
        if tables:
            merge_tables(folder, hosts)
    result = {"hosts": len(fleet.hosts), "page": str(folder / "index.html"), "msg": _say(fleet, folder)}
    return result | (summarise(fleet.hosts, result["page"]) if summarise else {})


def _say(fleet: Fleet, folder: pathlib.Path) -> str:
    problems = f", {count(len(fleet.problems), 'record')} could not be used" if fleet.problems else ""
    return f"{count(len(fleet.hosts), 'host')} in {folder / 'index.html'}{problems}"


@contextlib.contextmanager
def _alone(folder: pathlib.Path) -> Iterator[None]:
    try:
        modes.make_folder(folder)
        path = folder / ".fleet.lock"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, modes.of_file(path))
        with open(handle, "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise host_folder.RecordError(f"cannot write in {folder}: {error.strerror}") from error


def _merge(folder: pathlib.Path, hosts: list[str]) -> None:
    """findings.jsonl of the fleet: the hosts' files concatenated. Each of them is replaced atomically when its host is
    audited, so incomplete lines are never read."""
    with tempfile.NamedTemporaryFile("wb", dir=folder, prefix=".findings.jsonl.", delete=False) as merged:
        try:
            for host in hosts:
                _append_lines(folder / host, merged)
            merged.close()
            host_folder.publish(merged.name, folder / "findings.jsonl")
        except BaseException:
            os.unlink(merged.name)
            raise


def _append_lines(host: pathlib.Path, merged: BinaryIO) -> None:
    try:
        with open(host / host_folder.LINES, "rb") as lines:
            shutil.copyfileobj(lines, merged)
    except FileNotFoundError:
        # A record without this file, from an earlier release or from a copy: its findings are in audit.json.
        with contextlib.suppress(host_folder.RecordError, KeyError, TypeError):
            merged.write(findings_lines(host_folder.read_json(host / "audit.json"), None).encode())
