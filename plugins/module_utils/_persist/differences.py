# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Diffs of files before and after a change."""
from __future__ import annotations

import zipfile
from typing import Union

from .._one_file.archive import list_program
from .files import Link
from .paths import PROGRAM

Content = Union[bytes, Link, None]


def make_diff(path: str, before: Content, after: Content) -> dict[str, str]:
    """Make an entry of Ansible's diff, with whole files."""
    return {"before_header": path, "after_header": path, "before": _shown(path, before), "after": _shown(path, after)}


def _shown(path: str, content: Content) -> str:
    if content is None:
        return ""
    if isinstance(content, Link):
        return f"link to {content.text}\n"
    if path == PROGRAM:
        try:
            return "".join(f"{line}\n" for line in list_program(content))
        except zipfile.BadZipFile:
            return f"{len(content)} bytes that are no program\n"
    return content.decode("utf-8", "replace")
