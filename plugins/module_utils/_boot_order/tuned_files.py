# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""TuneD's active profile with everything that it includes.

Sources: TuneD 2.20 to 2.27: man 5 tuned.conf, tuned-main.conf; tuned/profiles/{locator,loader,merger,unit}.py.
"""
from __future__ import annotations

import re
from typing import NamedTuple

from .._host.host import Host
from .tuned_main import read_profile_folders

ACTIVE_PROFILE = "/etc/tuned/active_profile"
POST_LOADED_PROFILE = "/etc/tuned/post_loaded_profile"
# A user's profile replaces the system's of the same name. From 2.23 on they are in these folders, up to 2.22 they were
# directly in /etc/tuned and /usr/lib/tuned.
_USER, _SYSTEM = "/etc/tuned/profiles", "/usr/lib/tuned/profiles"
_OLDER_TOO = (_USER, "/etc/tuned", _SYSTEM, "/usr/lib/tuned")

_TRUE = ("True", "true", "1")
_PROFILE_LIMIT = 64
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_UNIT_KEYS = frozenset(("type", "enabled", "replace", "prepend", "drop", "priority", "devices", "devices_udev_regex",
                        "cpuinfo_regex", "uname_regex", "script_pre", "script_post"))


class Option(NamedTuple):
    """`value` is None if it contains a function or a variable that only TuneD can expand."""

    name: str
    value: str | None
    path: str
    line: int
    text: str       # as written


class Unit(NamedTuple):
    """One section of the merged profile."""

    type: str
    options: dict[str, Option]
    keys: dict[str, str]


_NOTHING = Unit("", {}, {})


def read_profile_names(host: Host) -> list[str]:
    return [name for path in (ACTIVE_PROFILE, POST_LOADED_PROFILE) for name in (host.read(path).value or "").split()]


def read_units(host: Host, names: list[str]) -> dict[str, Unit]:
    """Return the merged sections of the profiles and everything that they include; later ones override earlier ones."""
    texts: list[tuple[str, str]] = []
    _load(host, _folders(host), names, texts, set())
    merged: dict[str, Unit] = {}
    for path, text in texts:
        for name, unit in parse_profile(path, text).items():
            _merge(merged, name, unit)
    variables = {name: option.text for name, option in merged.pop("variables", _NOTHING).options.items()}
    return {name: unit._replace(options={key: option._replace(value=_expand(option.text, variables))
                                         for key, option in unit.options.items()})
            for name, unit in merged.items()}


def _folders(host: Host) -> tuple[str, ...]:
    """The folders in which TuneD looks for a profile, the first one first."""
    told = read_profile_folders(host)
    return told or ((_USER, _SYSTEM) if host.is_dir(_SYSTEM) else _OLDER_TOO)


def _load(host: Host, folders: tuple[str, ...], names: list[str], texts: list[tuple[str, str]],
          seen: set[str]) -> None:
    """Add the profiles in TuneD's merge order: included profiles before those that include them."""
    for name in names:
        path = _find(host, folders, name.lstrip("-"), seen)
        if path is None or len(seen) > _PROFILE_LIMIT:
            continue
        seen.add(path)
        text = host.read(path).value or ""
        included = parse_profile(path, text).get("main", _NOTHING).options.get("include")
        if included is not None:
            _load(host, folders, list(filter(None, re.split(r"\s*[,;]\s*", included.text))), texts, seen)
        texts.append((path, text))


def _find(host: Host, folders: tuple[str, ...], name: str, seen: set[str]) -> str | None:
    """Find a profile's file; a profile that includes its own name means the next one of that name."""
    if not re.fullmatch(r"[\w.-]+", name):
        return None
    paths = (f"{folder}/{name}/tuned.conf" for folder in folders)
    return next((path for path in paths if path not in seen and host.exists(path)), None)


def parse_profile(path: str, text: str) -> dict[str, Unit]:
    """Parse the sections of one tuned.conf. Keys are case-sensitive; `#` after a blank begins a comment."""
    units: dict[str, Unit] = {}
    here = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.split(r"(?:^|\s)#", raw, maxsplit=1)[0].strip()
        if line.startswith("[") and line.endswith("]"):
            here = units.setdefault(line[1:-1], Unit(line[1:-1], {}, {}))
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if here is None or not equals or not key:
            continue
        if key in _UNIT_KEYS:
            here.keys[key] = value
        else:
            here.options[key] = Option(key, value, path, number, value)
    return {name: unit._replace(type=unit.keys.get("type", unit.type)) for name, unit in units.items()}


def _merge(merged: dict[str, Unit], name: str, newer: Unit) -> None:
    older = merged.get(name)
    if older is None or newer.keys.get("replace") in _TRUE:
        merged[name] = newer
        return
    for dropped in re.split(r"\s*[,;]\s*", newer.keys.get("drop", "")):
        older.options.pop(dropped, None)
    older.options.update(newer.options)
    older.keys.update(newer.keys)
    merged[name] = older._replace(type=newer.type)


def _expand(text: str, variables: dict[str, str]) -> str | None:
    for _round in range(8):
        if "${" not in text:
            return text.strip("\"'")
        text = _VARIABLE.sub(lambda found: variables.get(found[1], found[0]), text)
    return None
