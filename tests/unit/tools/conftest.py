# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A checkout with the scripts of tools/ alone, and programs that only write down how they were called."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from checkout import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tools"))       # for `from pages.page import check_page`


class Checkout:
    """`run` starts a script of tools/ on a PATH that holds the stand-ins and the shell's own helpers, nothing else."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        shutil.copytree(REPOSITORY / "tools", folder / "tools")
        for name in ("sh", "dirname", "cat", "cmp", "cp", "sed", "head", "mkdir"):
            (self.bin / name).symlink_to(shutil.which(name))

    def file(self, path: str, text: str) -> pathlib.Path:
        here = self.folder / path
        here.parent.mkdir(parents=True, exist_ok=True)
        here.write_text(text)
        return here

    def program(self, path: str, body: str = "") -> pathlib.Path:
        """A stand-in below the checkout: it notes its name and words in `calls`, then does `body`."""
        name = pathlib.Path(path).name
        note = f"""printf '%s\\n' "{name}$(printf ' [%s]' "$@")" >>"{self.folder}/calls\""""
        here = self.file(path, f"#!/bin/sh\n{note}\n{body}\n")
        here.chmod(0o755)
        return here

    def calls(self, program: str) -> list[str]:
        """The words of each call of a program: `[-i] [hosts.yml]`."""
        record = self.folder / "calls"
        lines = record.read_text().splitlines() if record.exists() else []
        return [line[len(program) + 1:] for line in lines if line.startswith(f"{program} ")]

    def run(self, script: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "tools" / script), *words], capture_output=True, text=True, check=False, cwd=os.sep,
            env={"PATH": str(self.bin), "HOME": str(self.folder), **environment})


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)
