# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Sysctl files: which are read at boot, in which order, their lines, and which line is effective."""
from __future__ import annotations

import fnmatch

from .._host.host import Host
from .._host.reading import Reading
from .._kernel.drop_ins import find_drop_ins
from .._kernel.sysctl import SYSCTLS

# man 5 sysctl.d and man 8 sysctl, --system: of files with the same name the first one found is effective.
FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
SYSCTL_CONF = "/etc/sysctl.conf"
_GLOB_SIGNS = frozenset("*?[")
_SWAP = str.maketrans("./", "/.")


def find_sysctl_files(host: Host) -> list[tuple[str, Reading]]:
    return find_drop_ins(host, FOLDERS)


def leads_to(host: Host, path: str, target: str) -> bool:
    try:
        return host.resolve(path) == target
    except OSError:
        return False


def parse_settings(text: str) -> list[tuple[int, str, str | None]]:
    """Parse `(line, key, value)` of one file; the key with slashes, the value None for `-key` (excluded from patterns).

    A hyphen before a key with a value means that a failure is ignored. As in parse_file() of systemd's
    src/sysctl/sysctl.c, the first separator in a key decides which one it uses.
    """
    settings = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        key, equals, value = line.partition("=")
        key = key.strip()
        if not key or not (equals or key.startswith("-")):
            continue
        settings.append((number, with_slashes(key.lstrip("-")), value.strip() if equals else None))
    return settings


def with_slashes(key: str) -> str:
    first = next((sign for sign in key if sign in "./"), None)
    return key.translate(_SWAP) if first == "." else key


def is_pattern(key: str) -> bool:
    return not _GLOB_SIGNS.isdisjoint(key)


def decide(files: list[tuple[str, str]], keys: tuple[str, ...] | None = SYSCTLS) -> list[dict]:
    """Return the effective setting of each of `keys` (None: every key in the files), in the order of setting.

    A later line wins; a pattern never applies to a key that is named in full (man 5 sysctl.d).
    """
    named: dict[str, tuple] = {}
    patterns: list[tuple] = []
    for place, (_file, text) in enumerate(files):
        for line, key, value in parse_settings(text):
            if not is_pattern(key):
                named[key] = (place, line, value)
            elif value is not None:
                patterns.append((key, (place, line, value)))
    wanted = named if keys is None else map(with_slashes, keys)
    won = sorted((entry, key) for key in wanted if (entry := named.get(key) or _last_match(patterns, key)))
    return [{"key": key.translate(_SWAP), "value": value, "file": files[place][0], "line": line}
            for (place, line, value), key in won if value is not None]


def _last_match(patterns: list[tuple[str, tuple]], key: str) -> tuple | None:
    parts = key.split("/")
    for pattern, entry in reversed(patterns):
        signs = pattern.split("/")
        if len(signs) == len(parts) and all(map(fnmatch.fnmatchcase, parts, signs)):
            return entry
    return None
