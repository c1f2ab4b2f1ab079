# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The location of this checkout, and the files that belong to it."""
from __future__ import annotations

import os
import pathlib
import subprocess

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def files(*folders: str, new: bool = True) -> list[str]:
    """Paths of tracked files and, with `new`, of untracked ones that git does not ignore; all, or below `folders`."""
    which = ["--cached", "--others", "--exclude-standard"] if new else ["--cached"]
    listed = subprocess.run(["git", "ls-files", *which, "--", *folders], cwd=REPOSITORY, check=True, text=True,
                            capture_output=True).stdout.splitlines()
    return sorted(name for name in set(listed) if (REPOSITORY / name).is_file())


def environment(**changes: str) -> dict[str, str]:
    """The test's environment without variables that would change Ansible's behaviour on the tester's machine."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTEST_"))}
    return kept | changes
