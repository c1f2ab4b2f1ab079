# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python versions on this machine with which code for managed hosts must run."""
from __future__ import annotations

import functools
import os
import subprocess
import sys

from checkout import REPOSITORY

VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")


@functools.cache
def find_python(version: str) -> str | None:
    """The path of this version; None if it is not installed."""
    done = subprocess.run([REPOSITORY / "tools" / "find-python.sh", version], capture_output=True, text=True,
                          check=False, env={**os.environ, "PYTHON": ""})
    return done.stdout.strip() if done.returncode == 0 else None


def find_system_python() -> str:
    """A Python outside home folders and virtual environments; the one that runs the tests if there is none."""
    return "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
