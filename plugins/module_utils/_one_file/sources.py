# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Collect files of module_utils with everything they import from it, as a separate package.

Programs sent to a host, or installed on it, outside of Ansible's modules are made from this package.
"""
from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterable
from typing import Callable

PACKAGE = "gpuhost"     # what module_utils is called there
_MODULE_UTILS = __name__.rpartition(".")[0].rpartition(".")[0]

File = tuple[str, str]                          # folder and file: ("_host", "reading")
Read = Callable[[str, str], str]                # the text of a file
Form = Callable[[str, ast.Module], str]         # the part of a text to keep


def gather(entries: Iterable[File], read: Read, form: Form | None = None) -> dict[str, str]:
    """Return the files by name, `gpuhost.<folder>.<file>`, sorted, and the empty packages around them."""
    sources = {PACKAGE: ""}
    waiting = list(entries)
    while waiting:
        room, file = waiting.pop()
        name = f"{PACKAGE}.{room}.{file}"
        if name not in sources:
            text = read(room, file)
            tree = ast.parse(text)
            sources.update({f"{PACKAGE}.{room}": "", name: form(text, tree) if form else text})
            waiting += _imported(room, tree)
    return dict(sorted(sources.items()))


def read_own(room: str, file: str) -> str:
    """Read a file of the running module_utils: a folder, or the archive that Ansible sent."""
    name = f"{_MODULE_UTILS}.{room}.{file}"
    text = importlib.util.find_spec(name).loader.get_source(name)
    return text.decode("utf-8") if isinstance(text, bytes) else text       # Ansible's own loader returns bytes


def _imported(here: str, tree: ast.Module) -> list[File]:
    """Return what a file in the folder `here` of module_utils imports from module_utils."""
    found: list[File] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            package = [here] if node.level == 1 else []
            package += node.module.split(".") if node.module else []
            files = package[1:] or [name.name for name in node.names]
            found += [(package[0], file) for file in files]
    return found
