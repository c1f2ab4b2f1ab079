# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Write the folder of node_exporter's textfile collector: the findings of all hosts, and their changes."""
from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from .._records import host_folder
from .._report.prometheus import head, sample
from .counters import WORDS
from .lines import per_hour

FOLDER, CHANGES = "prometheus", "gpuhost-watch.prom"
_CHANGES = ("gpuhost_watch_changes", "Findings that are new or mended, and settings that changed, at the last look")
_ERRORS = ("gpuhost_watch_errors_per_hour", "Errors of a device since the look before; the label kind says which")
_SLOWED = ("gpuhost_watch_slowed", "1 for a GPU that was slowed down at the last look")
_UP = ("gpuhost_watch_audited", "1 for a host that was audited at the last look, 0 for one that gave no answer")
_TIME = ("gpuhost_watch_timestamp_seconds", "When the fleet was last watched")
_KINDS = ("new", "mended", "changed")
_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]")


def write(folder: pathlib.Path, reports: pathlib.Path, hosts: Mapping[str, Mapping[str, Any]],
          missing: Mapping[str, str], now: float) -> None:
    """Copy each host's gpuhost.prom under a name of its own, and write one file about changes. Files of hosts that no
    longer exist are removed."""
    wanted = {CHANGES: exposition(hosts, missing, now)}
    for host in sorted({*hosts, *missing}):
        path = reports / host / "gpuhost.prom"
        if path.is_file():
            wanted[f"gpuhost-host-{_NO_FILE_NAME.sub('_', host)}.prom"] = path.read_text(encoding="utf-8")
    for name, text in wanted.items():
        host_folder.write_text(folder / name, text)
    for path in folder.glob("gpuhost-host-*.prom"):
        if path.name not in wanted:
            os.unlink(path)


def exposition(hosts: Mapping[str, Mapping[str, Any]], missing: Mapping[str, str], now: float) -> str:
    """The text format, version 0.0.4."""
    lines = [*head(*_UP), *(sample(_UP[0], int(host in hosts), host=host) for host in sorted({*hosts, *missing}))]
    lines += head(*_CHANGES)
    for host, seen in hosts.items():
        lines += [sample(_CHANGES[0], sum(one["kind"] == kind for one in seen["changes"]), host=host, kind=kind)
                  for kind in _KINDS]
    lines += head(*_ERRORS)
    for host, seen in hosts.items():
        for kind in WORDS:
            # Write a sample even without changes: if a series ends, its alert persists for five minutes only.
            lines.append(sample(_ERRORS[0], 0, host=host, kind=kind, place=""))
        lines += [sample(_ERRORS[0], f"{per_hour(one):.6g}", host=host, kind=one["what"],
                         place=one["place"]) for one in seen["rates"] if one["hours"] is not None]
    lines += head(*_SLOWED)
    lines += [sample(_SLOWED[0], 1, host=host, place=one["place"]) for host, seen in hosts.items()
              for one in seen["rates"] if one["what"] == "slowed"]
    return "\n".join([*lines, *head(*_TIME), f"{_TIME[0]} {now:.3f}"]) + "\n"
