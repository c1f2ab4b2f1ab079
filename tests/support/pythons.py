# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Pythons of this machine on which code for managed hosts has to run."""
from __future__ import annotations

import functools
import os
import subprocess
import sys

from checkout import REPOSITORY

VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")


@functools.cache
def find_python(version: str) -> str | None:
    """Its path; None where this machine has none."""
    done = subprocess.run([REPOSITORY / "tools" / "find-python.sh", version], capture_output=True, text=True,
                          check=False, env={**os.environ, "PYTHON": ""})
    return done.stdout.strip() if done.returncode == 0 else None


def find_system_python() -> str:
    """One that lies neither in a home nor in an environment; that of the tests where there is none."""
    return "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
