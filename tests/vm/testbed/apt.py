# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a release's archive offers today, asked through an apt of our own that leaves the machine's apt alone."""
from __future__ import annotations

import os
import pathlib
import re
import subprocess

from .releases import Release
from .settings import CACHE, Unusable


class Archive:
    """The package lists of one release, kept in the cache."""

    def __init__(self, release: Release) -> None:
        self._folder = CACHE / f"apt-{release.name}"
        self._release = release

    def _apt(self, program: str, *arguments: str, where: pathlib.Path | None = None) -> str:
        folder = self._folder
        options = {
            "Dir::State": folder, "Dir::State::status": folder / "status", "Dir::Cache": folder,
            "Dir::Etc::sourcelist": folder / "sources.list", "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null", "Acquire::Languages": "none", "APT::Architecture": "amd64",
            "APT::Sandbox::User": "root", "APT::Install-Recommends": "0",
        }
        argv = [program, "-q", *(f"-o{name}={value}" for name, value in options.items()), *arguments]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=where,
                              env={**os.environ, "LC_ALL": "C.UTF-8"})
        if done.returncode or "W: Failed to fetch" in done.stderr:
            raise Unusable(f"{program} {' '.join(arguments)} for {self._release.suite}: {done.stderr.strip()}")
        return done.stdout

    def update(self) -> None:
        for name in ("lists/partial", "archives/partial"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        (self._folder / "status").touch()
        (self._folder / "sources.list").write_text(self._release.sources())
        self._apt("apt-get", "update")

    def versions(self, packages: list[str]) -> list[str]:
        """`name version` of what would be installed now."""
        text = self._apt("apt-cache", "policy", *packages)
        found = re.findall(r"^(\S+):\n  Installed: .*\n  Candidate: (.+)$", text, re.MULTILINE)
        if len(found) != len(packages):
            raise Unusable(f"{self._release.suite} does not offer all of {', '.join(packages)}")
        return [f"{name} {version}" for name, version in found]

    def download(self, package: str, folder: pathlib.Path) -> pathlib.Path:
        """The package file that the metapackage `package` depends on first."""
        depends = re.search(r"^  Depends: (\S+)", self._apt("apt-cache", "depends", package), re.MULTILINE)
        if depends is None:
            raise Unusable(f"{package} of {self._release.suite} depends on nothing")
        self._apt("apt-get", "download", depends.group(1), where=folder)
        return next(folder.glob(f"{depends.group(1)}_*.deb"))

    def download_with_dependencies(self, packages: list[str], status: str, folder: pathlib.Path) -> list[pathlib.Path]:
        """The package files that a system lacks to have `packages`; recommended ones are left out.

        `status` is the text of the system's /var/lib/dpkg/status. Files go to `folder`, which must be empty.
        """
        (folder / "partial").mkdir(parents=True)
        installed = folder / "partial" / "status"
        installed.write_text(status)
        self._apt("apt-get", f"-oDir::State::status={installed}", f"-oDir::Cache::archives={folder}",
                  "--assume-yes", "--download-only", "install", *packages)
        return sorted(folder.glob("*.deb"))
