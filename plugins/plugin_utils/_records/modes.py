# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""File modes of records and reports: by default only files with findings alone are readable by other users.

Chosen once per task: an Ansible worker is a process that runs a single one.
"""
from __future__ import annotations

import os
import pathlib
import re
from typing import Any

# Findings only, without secrets: read by pipelines, Prometheus and browsers of other users.
OPEN = frozenset(("gpuhost.prom", "junit.xml", "index.html", "findings.jsonl"))
DEFAULT = 0o600

_chosen = DEFAULT


def choose(given: Any) -> None:
    """Use the user's gpuhost_report_mode. ValueError: it is not a mode."""
    global _chosen
    _chosen = DEFAULT if given is None else parse(given)


def parse(given: Any) -> int:
    """The mode bits of `"0640"`. ValueError for anything else, including a number: YAML reads 0640 as 416."""
    if not isinstance(given, str) or not re.fullmatch(r"0?[0-7]{3}", given) or int(given, 8) & 0o600 != 0o600:
        raise ValueError(f"gpuhost_report_mode: wanted four octal digits in quotes that let the owner read and write, "
                         f"as in \"0640\", found {given!r}")
    return int(given, 8) & 0o666


def of_file(path: pathlib.Path) -> int:
    return 0o666 & ~_umask() if path.name in OPEN or path.suffix == ".prom" else _chosen


def of_folder() -> int:
    """The folder mode: users who may read the files may also list the folder."""
    return _chosen | (_chosen & 0o444) >> 2


def make_folder(path: pathlib.Path) -> None:
    """Create the folder and its parents; an existing one keeps its mode. Raises OSError."""
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue            # another worker was faster
        folder.chmod(of_folder())


def _umask() -> int:
    # The umask can only be read by setting it; a worker is single-threaded here.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
