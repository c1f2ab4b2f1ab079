# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Merge the reports of several controllers into one folder: each host's newest audit, with the history of all."""
from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterable
from typing import Any

from .._records import history as records_history
from .._records import host_folder
from .fleet import audited

_COLLECTED_AT = re.compile(rb'^ "collected_at": "([^"]+)"', re.MULTILINE)
_LAST_RUN = "last-run.json"


def gather(report_dir: str, folders: Iterable[str]) -> dict[str, list[str]]:
    """Copy newer records from `folders` into `report_dir`; return `{host: the folders it was copied from}`.

    `folders` are not modified. RecordError: one of them is not a report folder, or a host cannot be copied.
    """
    taken: dict[str, list[str]] = {}
    for folder in folders:
        path = pathlib.Path(os.path.abspath(os.path.expanduser(folder)))
        if not path.is_dir():
            raise host_folder.RecordError(f"gpuhost_gather: {path} is no folder: name folders of reports")
        for host in audited(folder):
            here = host_folder.HostFolder(report_dir, host).path
            if path / host != here and _take(path / host, here):
                taken.setdefault(host, []).append(folder)
        _join_last_runs(pathlib.Path(os.path.abspath(os.path.expanduser(report_dir))), path)
    return taken


def _take(source: pathlib.Path, here: pathlib.Path) -> bool:
    """Whether anything was copied: all of a newer audit; from an older one, its runs and its part of the history."""
    newer = _collected_at(source / "audit.json") > _collected_at(here / "audit.json")
    history = _joined(source / host_folder.HISTORY, here / host_folder.HISTORY, newer)
    copied = False
    for path in sorted(source.rglob("*")):
        target = here / path.relative_to(source)
        # A link could lead anywhere, and the files of a run never change.
        if path.is_symlink() or not path.is_file() or path.name == host_folder.HISTORY:
            continue
        if newer if path.parent == source else not target.exists():
            _copy(path, target)
            copied = True
    host_folder.write_compact(here / host_folder.HISTORY, history)
    return copied


def _collected_at(path: pathlib.Path) -> str:
    """The time of the audit, empty if there is none; it is in the first lines, before all facts."""
    try:
        with path.open("rb") as stream:
            found = _COLLECTED_AT.search(stream.read(1 << 12))
    except OSError:
        return ""
    return found[1].decode("ascii", "replace") if found else ""


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    try:
        data, times = source.read_bytes(), source.stat()
    except OSError as error:
        raise host_folder.RecordError(f"cannot read {source}: {error.strerror}") from error
    host_folder.write_bytes(target, data)
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))     # fleet.json identifies its audit.json by the time


def _joined(source: pathlib.Path, here: pathlib.Path, newer: bool) -> dict[str, Any]:
    """The merged history: every audit once. Drift is taken from the newer one or, if its history begins with this
    audit, computed against the other's."""
    theirs, ours = records_history.read(source), records_history.read(here)
    known = {(one["run_id"], one["stage"], one["at"]): one for one in [*ours["audits"], *theirs["audits"]]}
    audits = sorted(known.values(), key=lambda one: one["at"])[-records_history.KEPT_AUDITS:]
    if not newer:
        return {**ours, "audits": audits}
    if theirs["since"] or not ours["audits"]:
        return {**theirs, "audits": audits}
    return {**theirs, "audits": audits, "since": ours["audits"][-1]["at"],
            "drift": records_history.drift(ours["seen"], theirs["seen"])}


def _join_last_runs(report_dir: pathlib.Path, folder: pathlib.Path) -> None:
    """Merge the hosts of both last-run.json; for a host in both the newer entry is used."""
    documents = []
    for path in (report_dir / _LAST_RUN, folder / _LAST_RUN):
        try:
            document = host_folder.read_json(path)
            documents.append((document["at"], document["hosts"], document))
        except (host_folder.RecordError, KeyError, TypeError):
            continue
    if folder == report_dir or not documents:
        return
    documents.sort(key=lambda one: one[0])
    hosts = {host: state for _at, known, _document in documents for host, state in known.items()}
    host_folder.write_json(report_dir / _LAST_RUN, {**documents[-1][2], "hosts": hosts})
