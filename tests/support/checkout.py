# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where this checkout lies, and which files belong to it."""
from __future__ import annotations

import os
import pathlib
import subprocess

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def files(*folders: str, new: bool = True) -> list[str]:
    """Paths of the files that git knows and, with `new`, of those that it would take; all, or those below `folders`."""
    which = ["--cached", "--others", "--exclude-standard"] if new else ["--cached"]
    listed = subprocess.run(["git", "ls-files", *which, "--", *folders], cwd=REPOSITORY, check=True, text=True,
                            capture_output=True).stdout.splitlines()
    return sorted(name for name in set(listed) if (REPOSITORY / name).is_file())


def environment(**changes: str) -> dict[str, str]:
    """That of the test, less what would make Ansible behave as on the tester's machine."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTEST_"))}
    return kept | changes
