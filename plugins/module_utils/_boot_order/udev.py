# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""udev rules that write an attribute or a sysctl, or run a command that does.

Sources: man 7 udev (ATTR{key}, SYSCTL{kernel parameter}, RUN; files of all folders sorted by name).
"""
from __future__ import annotations

import re
from collections.abc import Iterator

from .._host.host import Host
from .._kernel.drop_ins import find_drop_ins
from .setting import SYSCTL, SYSFS, Setting, named_by_path
from .shell_writes import find_writes
from .sysctl_files import with_slashes

FOLDERS = ("/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d", "/usr/lib/udev/rules.d",
           "/lib/udev/rules.d")
OWN_RULES = "/etc/udev/rules.d/90-gpuhost.rules"
_TOKEN = re.compile(r'([A-Z_]+)(?:\{([^}]*)\})?\s*(==|!=|\+=|-=|:=|=)\s*e?"((?:[^"\\]|\\.)*)"')
_WHY = "udev applies it on every event of the device that the rule fits, which may come after ours"


def settings(host: Host) -> Iterator[Setting]:
    for path, text in find_drop_ins(host, FOLDERS, ".rules"):
        if path == OWN_RULES:
            continue
        for line, tokens in _rules(text.value or ""):
            yield from _of_rule(path, line, tokens)


def _rules(text: str) -> Iterator[tuple[int, list[tuple[str, str, str, str]]]]:
    begun, start = "", 1
    for number, raw in enumerate(text.splitlines(), 1):
        start = start if begun else number
        begun += raw
        if begun.endswith("\\"):
            begun = begun[:-1]
            continue
        # Most rules only match, name and tag devices: they are not parsed.
        if not begun.lstrip().startswith("#") and any(word in begun for word in ("ATTR{", "SYSCTL{", "RUN")):
            yield start, _TOKEN.findall(begun)
        begun = ""


def _of_rule(path: str, line: int, tokens: list[tuple[str, str, str, str]]) -> Iterator[Setting]:
    about = [value for key, _name, operator, value in tokens if operator == "==" and key in ("KERNEL", "SUBSYSTEM")]
    for key, name, operator, value in tokens:
        literal = None if "$" in value or "%" in value else value
        if key == "ATTR" and operator == "=":
            for pattern in _patterns(name, about):
                yield Setting(SYSFS, pattern, literal, path, line, f"ATTR{{{name}}}", True, _WHY)
        elif key == "SYSCTL" and operator == "=":
            yield Setting(SYSCTL, with_slashes(name), literal, path, line, f"SYSCTL{{{name}}}", True, _WHY)
        elif key == "RUN" and operator in ("=", "+=", ":="):
            for write in find_writes(value.replace('\\"', '"')):
                named = named_by_path(write.target) if write.kind is None else (write.kind, write.target)
                if named is not None:
                    yield Setting(*named, write.value, path, line, "RUN", True, _WHY)


def _patterns(attribute: str, about: list[str]) -> list[str]:
    """Return the paths that an attribute may have: only the event identifies the device, a rule just its names."""
    folder, _slash, name = attribute.rpartition("/")
    if folder:
        return [f"*/{folder}/{name}", f"*/{folder}/*/{name}"]
    return [f"*/{alternative}/{name}" for pattern in about for alternative in pattern.split("|")]
