# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Other configuration that sets the values to persist, and which value is in effect after a boot."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._host.host import Host
from .._tunables.sysctl_rules import PAIRS
from . import (
    boot_scripts,
    cmdline,
    modules,
    saptune,
    services,
    sysctls,
    sysfsutils,
    tmpfiles,
    tuned,
    udev,
)
from .setting import SYSCTL, Names, Setting, agrees, sysctl_name

_SOURCES = (cmdline, sysctls, tmpfiles, udev, sysfsutils, modules, boot_scripts, services, saptune, tuned)
# A non-zero write to one sets the other to zero.
_OTHER_FACE = {**dict(PAIRS), **{face: ratio for ratio, face in PAIRS}}


def competitors(host: Host, values: dict[str, dict[str, Any]]) -> list[dict]:
    """Find every line in this host's files that sets one of `values`, in the order in which boot applies them.

    `values` has the shape that setters take. Each result is `{address, path, line, key, value, wanted, wins, why}`:
    `line` is 0 for a file as a whole, `value` None if the file does not give it. `wins`: after a boot its value is in
    effect, or may be, and differs from the wanted one. Only files are read, and nothing is written.
    ValueError: a name is not valid for its kind.
    """
    found = [setting for source in _SOURCES for setting in source.settings(host)]
    return [line for kind, wanted in values.items() for name, spec in wanted.items()
            for line in _about(host, found, kind, name, spec)]


def _about(host: Host, settings: list[Setting], kind: str, name: str, spec: Any) -> Iterator[dict]:
    wanted = spec["set"] if isinstance(spec, dict) and "set" in spec else spec
    names = Names(host, kind, name)
    other = _OTHER_FACE.get(sysctl_name(name).replace("/", ".")) if kind == SYSCTL else None
    face = Names(host, kind, other) if other else None
    for setting in settings:
        if names.match(setting):
            same = setting.value is not None and agrees(setting.value, wanted)
            yield _line(kind, name, wanted, setting, setting.wins and not same,
                        "it is the same value" if setting.wins and same else setting.why)
        elif face is not None and face.match(setting) and setting.value not in (None, "", "0") \
                and not agrees("0", wanted):
            yield _line(kind, name, wanted, setting, setting.wins,
                        f"a write of {other} makes {name} zero; {setting.why}")


def _line(kind: str, name: str, wanted: Any, setting: Setting, wins: bool, why: str) -> dict:
    return {"address": f"{kind}:{name}", "path": setting.path, "line": setting.line, "key": setting.key,
            "value": setting.value, "wanted": wanted, "wins": wins, "why": why}
