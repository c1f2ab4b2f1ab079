# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""One watch of a fleet: compare current audits with the previous watch, and keep the state for the next one."""
from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from .._records import host_folder
from . import textfile
from .changes import FILE, SCHEMA, changes, state

LAST = "last-watch.json"


def watch(report_dir: str, hosts: Iterable[str], ended: Mapping[str, str], folder: str, now: float) -> dict[str, Any]:
    """`{hosts: {host: its changes}, missing: {host: why}}`; also kept as last-watch.json and for Prometheus.

    `ended` has the results of this run's audits; `folder` is that of the textfile collector.
    """
    reports = pathlib.Path(os.path.abspath(os.path.expanduser(report_dir)))
    seen: dict[str, dict[str, Any]] = {}
    missing: dict[str, str] = {}
    for host in hosts:
        path = host_folder.HostFolder(report_dir, host).path
        why = _unanswered(path, ended.get(host))
        if why is not None:
            missing[host] = why
            continue
        try:
            document = host_folder.read_json(path / "audit.json")
            seen[host], current = changes(document, _before(path / FILE)), state(document)
        except (host_folder.RecordError, KeyError, TypeError, AttributeError):
            missing[host] = f"{path / 'audit.json'} is damaged or of another release: audit the host again"
            continue
        host_folder.write_compact(path / FILE, current)
    found = {"schema": SCHEMA, "hosts": seen, "missing": missing}
    host_folder.write_json(reports / LAST, found)
    target = pathlib.Path(os.path.abspath(os.path.expanduser(folder))) if folder else reports / textfile.FOLDER
    textfile.write(target, reports, seen, missing, now)
    return found | {"textfiles": str(target)}


def _unanswered(path: pathlib.Path, ended: str | None) -> str | None:
    if ended in ("failed", "unreachable", "not audited"):
        return ended
    return None if (path / "audit.json").is_file() else "never audited"


def _before(path: pathlib.Path) -> dict[str, Any] | None:
    """The state of the previous watch; None if there was none, or if it is of another release."""
    try:
        known = host_folder.read_json(path)
        return known if known["schema"] == SCHEMA and isinstance(known["seen"], dict) else None
    except (host_folder.RecordError, KeyError, TypeError):
        return None
