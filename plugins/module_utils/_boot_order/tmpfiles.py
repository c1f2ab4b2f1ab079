# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""`w` lines of tmpfiles.d, which write attributes or sysctls when temporary files are created.

Sources: man 5 tmpfiles.d (w; of two lines with the same path the first counts); systemd-tmpfiles-setup.service, ordered
before basic.target but not relative to systemd-sysctl.service.
"""
from __future__ import annotations

import shlex
from collections.abc import Iterator

from .._host.host import Host
from .._kernel.drop_ins import find_drop_ins
from .setting import SYSCTL, Setting, named_by_path

FOLDERS = ("/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/local/lib/tmpfiles.d", "/usr/lib/tmpfiles.d")
_EARLIER = "systemd-tmpfiles-setup comes before gpuhost-boot"
_AGAIN = "; every `systemd-tmpfiles --create` sets it again"
_UNORDERED = "systemd-tmpfiles-setup is not ordered against systemd-sysctl: it may come later"


def settings(host: Host) -> Iterator[Setting]:
    seen = set()
    for path, text in find_drop_ins(host, FOLDERS):
        for line, kind_of_line, target, value in parse_lines(text.value or ""):
            named = named_by_path(target)
            if named is None or ("+" not in kind_of_line and target in seen):
                continue
            seen.add(target)
            sysctl = named[0] == SYSCTL
            why = _UNORDERED if sysctl else _EARLIER + ("" if "!" in kind_of_line else _AGAIN)
            yield Setting(*named, value, path, line, target, sysctl, why)


def parse_lines(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield `(line, type, path, argument)` of the lines that write to a file."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(None, 6)
        if len(words) == 7 and words[0].startswith("w"):
            yield number, words[0], words[1].replace("%%", "%"), _argument(words[6])


def _argument(text: str) -> str:
    """Decode quotes and C escapes; a text that cannot be decoded stays unchanged."""
    text = text.strip()
    try:
        text = shlex.split(text)[0] if text[:1] in ("'", '"') else text
        return text.encode("latin-1", "backslashreplace").decode("unicode_escape").strip("\n")
    except (ValueError, IndexError):
        return text
