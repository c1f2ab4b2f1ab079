# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Drop-in files (`*.d/*.conf`): precedence between folders that hold files of the same name."""
from __future__ import annotations

from .._host.host import Host
from .._host.reading import ABSENT, Reading, ok


def find_drop_ins(host: Host, folders: tuple[str, ...], suffix: str = ".conf") -> list[tuple[str, Reading]]:
    """Return the effective files with their texts, sorted by name; a link to /dev/null masks a file.

    Of files with the same name the first one found is effective (man 5 sysctl.d, tmpfiles.d, modprobe.d; man 7 udev).
    Raises NotRecorded if a recording lacks one of the folders or files.
    """
    found: dict[str, tuple[str, Reading]] = {}
    for folder in folders:
        for name in host.list(folder):
            if not name.endswith(suffix) or name in found:
                continue
            path = f"{folder}/{name}"
            text = host.read(path).told()
            if text.status != ABSENT:
                found[name] = (path, text)
            elif host.read_link(path).value == "/dev/null":
                found[name] = (path, ok(""))
    return [found[name] for name in sorted(found)]
