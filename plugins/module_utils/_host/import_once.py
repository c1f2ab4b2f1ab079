# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Compile each file of module_utils only once when a module runs from Ansible's archive.

zipimport compiles a source file to find its name, discards the result, and compiles it again to run it
(zipimporter.get_filename() in Lib/zipimport.py). With sixty files that takes a seventh of an audit's time on the host.
"""
from __future__ import annotations

import os
import sys
import zipimport
from importlib.machinery import ModuleSpec
from typing import Any

# module_utils. Python 3.9 sets __package__ of a module in an archive only after it has run.
_PACKAGE = __name__.rpartition(".")[0].rpartition(".")[0]


def install() -> None:
    """Install the finder ahead of Python's own; does nothing if module_utils are plain files."""
    if isinstance(__loader__, zipimport.zipimporter) and not any(isinstance(one, _Once) for one in sys.meta_path):
        here = os.path.join(__loader__.archive, __loader__.prefix)
        sys.meta_path.insert(0, _Once(os.path.dirname(os.path.normpath(here))))


class _Once:
    """Finder and loader for the folders below `root`, a path into an archive."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._folders: dict[str, Any] = {}

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        package, _dot, file = name.rpartition(".")
        if package.rpartition(".")[0] != _PACKAGE:
            return None
        try:
            source = self.get_source(name)
        except zipimport.ZipImportError:
            return None
        origin = os.path.join(self._root, package.rpartition(".")[2], file + ".py")
        spec = ModuleSpec(name, self, origin=origin, loader_state=source)
        spec.has_location = True
        return spec

    def create_module(self, _spec: ModuleSpec) -> None:
        """Use the default module creation."""

    def exec_module(self, module: Any) -> None:
        spec = module.__spec__
        exec(compile(spec.loader_state, spec.origin, "exec", dont_inherit=True), module.__dict__)

    def get_source(self, name: str) -> str:
        """Return the source; tracebacks use it too."""
        folder = name.split(".")[-2]
        if folder not in self._folders:
            self._folders[folder] = zipimport.zipimporter(os.path.join(self._root, folder))
        return self._folders[folder].get_source(name)
