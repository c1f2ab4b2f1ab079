# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Compile each file of this folder once where a module runs from the archive that Ansible sends.

zipimport compiles a source file to tell its name, throws the result away, and compiles it again to run it
(zipimporter.get_filename() in Lib/zipimport.py). With sixty files that is a seventh of an audit's time on the host.
"""
from __future__ import annotations

import os
import sys
import zipimport
from importlib.machinery import ModuleSpec
from typing import Any

_PACKAGE = (__package__ or "") + "."


def install() -> None:
    """Find the files of this folder before Python does; where they are plain files, leave it to Python."""
    if isinstance(__loader__, zipimport.zipimporter) and not any(isinstance(one, _Once) for one in sys.meta_path):
        sys.meta_path.insert(0, _Once(__loader__))


class _Once:
    """Finder and loader for the archive that this file came from."""

    def __init__(self, archive: Any) -> None:
        self._archive = archive

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        if not name.startswith(_PACKAGE) or "." in name[len(_PACKAGE):]:
            return None
        try:
            source = self.get_source(name)
        except zipimport.ZipImportError:
            return None
        file = os.path.join(self._archive.archive, self._archive.prefix, name[len(_PACKAGE):] + ".py")
        spec = ModuleSpec(name, self, origin=file, loader_state=source)
        spec.has_location = True
        return spec

    def create_module(self, _spec: ModuleSpec) -> None:
        """As any module is made."""

    def exec_module(self, module: Any) -> None:
        spec = module.__spec__
        exec(compile(spec.loader_state, spec.origin, "exec", dont_inherit=True), module.__dict__)

    def get_source(self, name: str) -> str:
        """For tracebacks too."""
        return self._archive.get_source(name)
