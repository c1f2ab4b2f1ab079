# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Attributes of sysfs by path: valid paths, and the only reader of such a file."""
from __future__ import annotations

from typing import Any

from .._host.host import Host
from .._host.reading import DENIED, Reading
from .._kernel.bracketed import chosen
from .sysfs_rules import BRACKETED, find_rule, never_read


def check_path(path: Any) -> None:
    """Raise ValueError for anything but one absolute, normalised path."""
    if not isinstance(path, str) or not path.startswith("/"):
        raise ValueError(f"{path!r} is not an absolute path, as in /sys/kernel/mm/ksm/run")
    if any(part in ("", ".", "..") for part in path[1:].split("/")) or "\0" in path:
        raise ValueError(f"{path!r} is not normalised: no empty components, no . and no ..")


def read(host: Host, path: str) -> Reading:
    """Read an attribute; for a choice like `always [madvise] never` the word in brackets; `denied` for a file that is
    never read."""
    why = never_read(path)
    if why is not None:
        return Reading(DENIED, None, f"never written, and not read: {why}")
    rule = find_rule(path)
    # After a short write a file of a recorded host is empty: a value that a restore must be able to replace.
    return host.read(path).map(
        lambda text: chosen(text) if text and (rule.form == BRACKETED if rule else "[" in text) else text)
