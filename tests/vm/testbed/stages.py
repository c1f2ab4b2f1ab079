# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Things that take long to build, kept in the cache under a key made of everything they are built from."""
from __future__ import annotations

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
from typing import Callable

from .settings import CACHE, Unusable

KEPT = 2    # builds of one stage


class Stage:
    """A folder in the cache. `make(folder, parts)` fills it; `parts` are the folders of the stages it needs.

    The key covers `inputs` and the keys of the parts, so it is known before anything is built.
    """

    def __init__(self, name: str, inputs: list[str], make: Callable, parts: list[Stage] | None = None) -> None:
        self.name = name
        self._make = make
        self._parts = parts or []
        text = "\0".join([name, *inputs, *(part.key for part in self._parts)])
        self.key = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.folder = CACHE / f"{name}-{self.key}"

    def build(self) -> pathlib.Path:
        """The folder, built now if it is not in the cache."""
        with _Lock(self.name):
            if not self.folder.is_dir():
                self._build()
            self.folder.touch()
        return self.folder

    def _build(self) -> None:
        parts = [part.build() for part in self._parts]
        started = time.monotonic()
        for left_over in CACHE.glob(f"draft-{self.name}-*"):    # of a build that was killed
            shutil.rmtree(left_over)
        draft = pathlib.Path(tempfile.mkdtemp(prefix=f"draft-{self.name}-", dir=CACHE))
        try:
            draft.chmod(0o755)
            self._make(draft, *parts)
            draft.rename(self.folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        print(f"{self.name}: built in {time.monotonic() - started:.0f} s", flush=True)
        self._remove_old()

    def _remove_old(self) -> None:
        siblings = [path for path in CACHE.glob(f"{self.name}-*") if len(path.name) == len(self.folder.name)]
        for path in sorted(siblings, key=os.path.getmtime)[:-KEPT]:
            shutil.rmtree(path)


class _Lock:
    """Two builds of one stage wait for each other."""

    def __init__(self, name: str) -> None:
        CACHE.mkdir(parents=True, exist_ok=True)
        self._file = open(CACHE / f"{name}.lock", "w")      # noqa: SIM115  closed in __exit__

    def __enter__(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_exception: object) -> None:
        self._file.close()


def digest_of(*paths: pathlib.Path) -> str:
    """A digest of files, and of all files below folders, names included."""
    digest = hashlib.sha256()
    for path in paths:
        files = sorted(found for found in path.rglob("*") if found.is_file()) if path.is_dir() else [path]
        for file in files:
            if file.suffix not in (".pyc", ".md"):
                digest.update(f"{file.relative_to(path)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def run(argv: list[str], log: pathlib.Path, **options: object) -> None:
    """A program of a build; its output goes to `log`, whose end is in the message when it fails."""
    with open(log, "ab") as output:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False, **options)
    if done.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
        raise Unusable(f"{' '.join(argv[:4])} ... ended with {done.returncode}:\n{tail}")
