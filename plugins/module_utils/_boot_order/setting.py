# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""A configuration line that sets a tunable, and whether it concerns a wanted one."""
from __future__ import annotations

import fnmatch
import posixpath
from typing import Any, NamedTuple

from .._host.host import Host
from .._kernel.sysctl import PROC_SYS, key_to_path

SYSCTL, SYSFS, MAXREADREQ, MODULE = "sysctl", "sysfs", "pcie_maxreadreq", "module"
EVERY = "*"
OWN_SYSCTLS = "/etc/sysctl.d/90-gpuhost.conf"
OWN_UNIT = "gpuhost-boot.service"


class Setting(NamedTuple):
    """`name` is the kind's name of a tunable, a shell pattern of such names, or EVERY for the whole kind.

    A sysctl's name has slashes, `vm/swappiness`. `value` is None if the file does not give it.
    `wins`: its value overrides ours after a boot, or may do so; `why` says which is applied later.
    """

    kind: str
    name: str
    value: str | None
    path: str
    line: int       # 0: the file as a whole
    key: str        # as written in the file
    wins: bool
    why: str


def sysctl_name(key: str) -> str:
    """Convert a wanted key, with either separator, to the form `vm/swappiness`. Raises ValueError."""
    return key_to_path(key)[len(PROC_SYS) + 1:]


def named_by_path(path: str) -> tuple[str, str] | None:
    """Return kind and name of the sysctl or attribute at `path`, which may be a pattern; None for anything else."""
    path = posixpath.normpath(path)
    if path.startswith(f"{PROC_SYS}/"):
        return SYSCTL, path[len(PROC_SYS) + 1:]
    return (SYSFS, path) if path.startswith("/sys/") else None


class Names:
    """The names that a configuration may use for one wanted tunable."""

    def __init__(self, host: Host, kind: str, name: str) -> None:
        self._host = host
        self.kind = kind
        self.names = {sysctl_name(name) if kind == SYSCTL else name}
        if kind == SYSFS:
            self.names.add(_resolved(host, name))

    def match(self, setting: Setting) -> bool:
        if setting.kind != self.kind:
            return False
        if setting.name == EVERY or any(_fits(setting.name, name) for name in self.names):
            return True
        # /sys/devices/system/cpu/cpu0/cpufreq is a link to ../cpufreq/policy0.
        return self.kind == SYSFS and any(_resolved(self._host, path) in self.names
                                          for path in self._host.glob(setting.name))


def _fits(pattern: str, name: str) -> bool:
    """Match part by part, like shell globbing; a pattern that begins with `*/` applies to the whole name."""
    if pattern.startswith("*/"):
        return fnmatch.fnmatchcase(name, pattern)
    signs, parts = pattern.split("/"), name.split("/")
    return len(signs) == len(parts) and all(map(fnmatch.fnmatchcase, parts, signs))


def _resolved(host: Host, path: str) -> str:
    try:
        return host.resolve(path)
    except OSError:
        return path


def agrees(value: str, wanted: Any) -> bool:
    """Whether `value` is the wanted one: compares words, numbers by value; `{at_least: n}` accepts n and above."""
    if isinstance(wanted, dict):
        try:
            return int(value, 0) >= int(wanted["at_least"])
        except (ValueError, KeyError):
            return False
    return [_number(word) for word in value.split()] == [_number(word) for word in str(wanted).split()]


def _number(word: str) -> str:
    try:
        return str(int(word, 16 if word.lower().startswith("0x") else 10))
    except ValueError:
        return word
