# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Collect files of module_utils with everything they import from it, as a separate package.

Programs sent to a host, or installed on it, outside of Ansible's modules are made from this package.
"""
from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable
from typing import Callable

PACKAGE = "gpuhost"     # what module_utils is called there
_MODULE_UTILS = __name__.rpartition(".")[0].rpartition(".")[0]

File = tuple[str, str]                          # folder and file: ("_host", "reading")
Read = Callable[[str, str], str]                # the text of a file
Form = Callable[[str], str]                     # the part of a text to keep

# `from ..room import file` and `from .file import name`, also over several lines. A parser would take five times as
# long, at every start of ansible-playbook; a test holds the two against each other.
_IMPORT = re.compile(r"^[ ]*from (\.{1,2})([\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


def gather(entries: Iterable[File], read: Read, form: Form | None = None) -> dict[str, str]:
    """Return the files by name, `gpuhost.<folder>.<file>`, sorted, and the empty packages around them."""
    sources = {PACKAGE: ""}
    waiting = list(entries)
    while waiting:
        room, file = waiting.pop()
        name = f"{PACKAGE}.{room}.{file}"
        if name not in sources:
            text = read(room, file)
            sources.update({f"{PACKAGE}.{room}": "", name: form(text) if form else text})
            waiting += imported(room, text)
    return dict(sorted(sources.items()))


def read_own(room: str, file: str) -> str:
    """Read a file of the running module_utils: a folder, or the archive that Ansible sent."""
    name = f"{_MODULE_UTILS}.{room}.{file}"
    text = importlib.util.find_spec(name).loader.get_source(name)
    return text.decode("utf-8") if isinstance(text, bytes) else text       # Ansible's own loader returns bytes


def imported(here: str, text: str) -> list[File]:
    """Return what a file in the folder `here` of module_utils imports from module_utils."""
    found: list[File] = []
    for dots, module, names in _IMPORT.findall(text):
        package = ([here] if dots == "." else []) + [part for part in module.split(".") if part]
        listed = names.partition("#")[0].strip("()").split(",")
        files = package[1:] or [name.split()[0] for name in listed if name.strip()]
        found += [(package[0], file) for file in files]
    return found
