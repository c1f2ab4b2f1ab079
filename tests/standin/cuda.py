# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the stand-in for the CUDA driver library, and tells it what to do."""
from __future__ import annotations

import pathlib
import shutil
import subprocess
from collections.abc import Sequence

FOLDER = pathlib.Path(__file__).parent
MIB = 1 << 20


def build(folder: pathlib.Path, without: Sequence[str] = (), header: pathlib.Path | None = None) -> pathlib.Path:
    """The shared library, compiled with the machine's gcc: without some of its functions, or held against the
    prototypes of a published cuda.h in the folder `header`."""
    library = folder / "libcuda-standin.so"
    options = [f"-D{name}=not_{name}" for name in without]
    options += ["-DWITH_CUDA_H", f"-I{header}"] if header else []
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *options, "-o",
                    str(library), *map(str, sorted(FOLDER.glob("*.c"))), "-ldl"], check=True, capture_output=True)
    return library


class Standin:
    """One copy of the library in `folder` with a file of its own that says how it behaves."""

    def __init__(self, built: pathlib.Path, folder: pathlib.Path) -> None:
        self.path = folder / built.name
        shutil.copy(built, self.path)
        self._lines: list[str] = []

    def does(self, *lines: str) -> Standin:
        """Further lines of its file; README.md lists them."""
        self._lines += lines
        self.path.with_name(f"{self.path.name}.conf").write_text("".join(f"{line}\n" for line in self._lines))
        return self

    def gpus(self, *bdfs: str, total: int = 1024 * MIB, free: int = 512 * MIB) -> Standin:
        return self.does(*(f"gpu {bdf} {total} {free}" for bdf in bdfs))

    def left(self) -> dict[str, int]:
        """What the process that used it had not given back when it ended in good order, and what it misused."""
        lines = self.path.with_name(f"{self.path.name}.left").read_text().split()
        return dict(zip(lines[::2], map(int, lines[1::2])))
