# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Find what a shell script writes to /proc/sys, /sys, MaxReadReq and the list of modules, from its text alone.

No shell is run and nothing is expanded: a variable in a path matches any text, one as a value is an unknown value.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .._host.host import Host
from .commands import find_commands
from .setting import named_by_path

_SCRIPT_LIMIT = 256 << 10       # bytes
_VALUE = r"""(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"';|&<>()]+))"""
_PATH = r"""["']?(?P<path>(?:/sys|/proc/sys|\$\{?\w+)[^\s"';|&<>()]*(?:["'][^\s"';|&<>()]*)*)"""
_PRINTED = re.compile(rf"(?:echo|printf)\s+(?:-\w+\s+)*(?:[\"']%s(?:\\n)?[\"']\s+)?{_VALUE}\s*"
                      rf"(?:>{{1,2}}|\|\s*(?:sudo\s+)?(?:\S*/)?tee\s+(?:-\w+\s+)*)\s*{_PATH}")
_WRITTEN = re.compile(rf"(?:>{{1,2}}|\btee\s+(?:-\w+\s+)*|\bof=)\s*{_PATH}")
_LOOP = re.compile(r"\bfor\s+(\w+)\s+in\s+([^;\n]+)")
_ASSIGNED = re.compile(r"^\s*(?:readonly\s+|export\s+)?(\w+)=[\"']?((?:/sys|/proc/sys)/[^\s\"';|&]*)", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{?(\w+)[^}\s/]*\}?|\$\([^)]*\)|%[a-zA-Z]")


class Write(NamedTuple):
    """`target` is a path if `kind` is None, else the name of a tunable of that kind; either may be a pattern."""

    kind: str | None
    target: str
    value: str | None
    line: int


def find_writes(text: str) -> Iterator[Write]:
    """Yield the writes in a text of shell commands, in order, without comments."""
    places: dict[str, list[str]] = {}
    for name, path in _ASSIGNED.findall(text):
        places.setdefault(name, []).append(path)
    for name, words in _LOOP.findall(text):
        places.setdefault(name, []).extend(word.strip("\"'") for word in words.split())
    for number, line in _joined_lines(text):
        if not line.startswith("#"):
            yield from _in_line(line, number, places)


def _joined_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers; one that ends in a backslash is joined with the next."""
    begun, start = "", 1
    for number, line in enumerate(text.splitlines(), 1):
        start = start if begun else number
        begun += line.strip()
        if begun.endswith("\\"):
            begun = begun[:-1] + " "
            continue
        yield start, begun
        begun = ""
    if begun:
        yield start, begun


def _in_line(line: str, number: int, places: dict[str, list[str]]) -> Iterator[Write]:
    told = {found["path"]: _literal(found["double"] or found["single"] or found["bare"])
            for found in _PRINTED.finditer(line)}
    for found in _WRITTEN.finditer(line):
        for path in _paths(found["path"], places):
            if named_by_path(path) is not None:
                yield Write(None, path, told.get(found["path"]), number)
    for kind, name, value in find_commands(line):
        yield Write(kind, name, value, number)


def _literal(value: str | None) -> str | None:
    return None if value is None or "$" in value or "`" in value else value.strip().removesuffix("\\n")


def _paths(text: str, places: dict[str, list[str]]) -> list[str]:
    """Return the patterns of a path: a variable at its beginning is looked up, any other becomes `*`."""
    text = text.replace('"', "").replace("'", "")
    found = re.match(r"\$\{?(\w+)\}?", text)
    begun = [place + text[found.end():] for place in places.get(found[1], [])] if found else [text]
    return [_VARIABLE.sub("*", path) for path in begun]


def read_script(host: Host, path: str) -> list[Write]:
    """Return the writes of a file; none if it cannot be read or is not text."""
    text = host.read(path, _SCRIPT_LIMIT).value or ""
    return [] if "\0" in text else list(find_writes(text))
